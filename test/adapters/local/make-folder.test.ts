/**
 * Folders that no user can make, such as those below `/proc`. A recursive `mkdir` of Node would not return there. macOS
 * has no `/proc`, but its own folder is read-only.
 */
import { expect, test } from "vitest";
import { makeFolder } from "../../../src/adapters/local/make-folder.ts";
import { openStore } from "../../../src/adapters/local/store/database.ts";

const REFUSED =
  process.platform === "darwin"
    ? { folder: "/System/cairn", name: "StoreUnreachable", message: /cannot be used: .+, then try again/ }
    : { folder: "/proc/cairn", name: "StoreInvalid", message: /cannot be made: .+; name another directory/ };

test("a folder that the system refuses is an error", () => {
  expect(() => makeFolder(`${REFUSED.folder}/below`)).toThrow(`mkdir '${REFUSED.folder}'`);
});

test("a store in such a folder is refused, and the error says what to do", () => {
  const { name, message, folder } = REFUSED;
  const open = () => openStore({ dir: `${folder}/below`, create: true });
  expect(open).toThrow(expect.objectContaining({ name, message: expect.stringMatching(message) }));
  expect(open).toThrow(`${folder}/below`);
});
