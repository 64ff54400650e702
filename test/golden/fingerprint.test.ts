/** The fingerprint of the stored forms, which each store carries until version 0.1.0. */
import { expect, test } from "vitest";
import { FINGERPRINT } from "../../src/protocol/fingerprint.ts";
import { fingerprint } from "./stored-forms.ts";

test("the fingerprint is that of the stored forms of this code", () => {
  const changed =
    "a stored form has changed: type `npm run golden -- --replace`, and let the commit say which form (CONTRIBUTING.md)";
  expect(FINGERPRINT, changed).toBe(fingerprint());
});
