/** `cairn audit` as a process: rows for people, lines for programs, and an exit code for a pipeline. */
import { expect, it } from "vitest";
import { cairn, desk, linesOf } from "../../support/cli.ts";

it("tells of each tool, and fails with --strict where something is missing", async () => {
  const at = desk();
  const shown = await cairn(at, ["audit", "clerk"]);
  expect(shown).toMatchObject({ exit: 0, err: expect.stringContaining("clerk is imported") });
  expect(shown.out).toMatch(/^mail +unsafe +N +N +N +N +never .*← N\/N\/N$/m);
  const strict = await cairn(at, ["audit", "./clerk.ts", "--strict", "--json"]);
  expect(strict.exit).toBe(1);
  const lines = linesOf(strict.out);
  expect(lines.filter(({ kind }) => kind === "tool").map(({ tool }) => tool)).toEqual(["note", "mail", "pay", "gate"]);
  expect(lines.filter(({ kind }) => kind === "missing").map(({ what }) => what)).toContain("decision");
});
