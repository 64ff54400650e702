/** `cairn audit` as a process: rows for people, lines for programs, and an exit code for a pipeline. */
import { expect, it } from "vitest";
import { runCairn, createCliFolder, parseJsonLines } from "../../support/processes/cli-process.ts";

it("reports each tool, and fails with --strict when a declaration is missing", async () => {
  const at = createCliFolder();
  const shown = await runCairn(at, ["audit", "clerk"]);
  expect(shown).toMatchObject({ exit: 0, err: expect.stringContaining("clerk is imported") });
  expect(shown.out).toMatch(/^mail +unsafe +N +N +N +N +never .*← a crash needs you$/m);
  const strict = await runCairn(at, ["audit", "./clerk.ts", "--strict", "--json"]);
  expect(strict.exit).toBe(1);
  const lines = parseJsonLines(strict.out);
  expect(lines.filter(({ kind }) => kind === "tool").map(({ tool }) => tool)).toEqual(["note", "mail", "pay", "gate"]);
  expect(lines.filter(({ kind }) => kind === "missing").map(({ what }) => what)).toContain("decision");
});
