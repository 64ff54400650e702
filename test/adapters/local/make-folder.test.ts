/** Folders that nobody can make, such as those below `/proc`. A recursive `mkdir` of Node would not return there. */
import { expect, test } from "vitest";
import { makeFolder } from "../../../src/adapters/local/make-folder.ts";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { StoreInvalid } from "../../../src/ports/store-errors.ts";

test("a folder that the system refuses is an error", () => {
  expect(() => makeFolder("/proc/cairn/below")).toThrow(/mkdir '\/proc\/cairn'/);
});

test("a store in such a folder is refused, and the error says what to do", () => {
  const open = () => openStore({ dir: "/proc/cairn/below", create: true });
  expect(open).toThrow(StoreInvalid);
  expect(open).toThrow(/\/proc\/cairn\/below cannot be made: .+; name another directory/);
});
