/** A budget that is used up, at the command line: it is listed, extended with who and why, and the run goes on. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  askCairnJson,
  askCairn,
  runCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  parseJsonLines,
} from "../../support/processes/cli-process.ts";

const START = ["start", "clerk", "--input", stepsInput("note", "note"), "--key", "k", "--wait"];

test("a run requests budget, is assigned to an operator, gets a grant, and ends", async () => {
  const at = createCliFolder();
  const file = join(at.dir, "clerk.ts");
  // What its model costs is said by the config, and counted by the process that does its beats.
  const budget = 'budget: { usd: 0.02, onExhausted: "ask" },';
  const prices = '"clerk-model": { inUsd: 1, outUsd: 1, source: "contract 7", lookedAt: "2026-11-21" }';
  const config = `export const config = { agents: ["./clerk.ts"], prices: { ${prices} } };`;
  writeFileSync(file, readFileSync(file, "utf8").replace("price: { inUsd: 1, outUsd: 1 },", budget));
  const blind = await runCairn(at, START);
  expect({ exit: blind.exit, err: blind.err }).toEqual({
    exit: 2,
    err: expect.stringContaining("a budget of money and no price"),
  });
  writeFileSync(join(at.dir, "cairn.config.ts"), config);
  const { exit, out } = await runCairn(at, START);
  expect({ exit, out }).toEqual({
    exit: 4,
    out: expect.stringMatching(/\? may the run spend more than its budget\? \$0.02 of \$0.02/),
  });
  const run = /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "";
  expect(out).toContain(`npx cairn approve ${run} budget --usd 0.02 --store ${at.store}`);

  expect(await runCairnJson(at, ["assign", run, "bob"])).toMatchObject({ run, assigned: "bob" });
  const [open, ...others] = parseJsonLines((await askCairn(at, ["approvals", "--json"])).out);
  expect(open).toMatchObject({ run, call: "budget", reason: "$0.02 of $0.02 is spent", assigned: { to: "bob" } });
  expect(others).toEqual([]);
  expect((await askCairn(at, ["approvals"])).out).toMatch(/clerk  \[k\], assigned to bob/);

  for (const [words, why] of [
    [["--beats", "5"], "not enough"],
    [["--usd", "much"], "is not an amount"],
    [["--wall", "2"], "not enough"],
  ] as const) {
    const refused = await askCairn(at, ["approve", run, ...words]);
    expect({ isRefused: [2, 4].includes(refused.exit ?? 0), err: refused.err }).toEqual({
      isRefused: true,
      err: expect.stringContaining(why),
    });
  }
  const said = ["approve", run, "--usd", "0.5", "--beats", "3", "--note", "it is nearly done"];
  expect(await runCairnJson(at, said)).toMatchObject({ call: "budget", more: { microUsd: 500_000, beats: 3 } });
  const after = await runCairn(at, START);
  expect({ exit: after.exit, out: after.out }).toEqual({
    exit: 0,
    out: expect.stringContaining("done: succeeded, succeeded"),
  });
  expect(after.out).toMatch(/budget is approved by .*, with \$0.50, 3 beats more: it is nearly done/);
  const shown = await askCairnJson(at, ["show", run]);
  expect(shown).toMatchObject({ granted: { microUsd: 500_000, beats: 3 }, assigned: { to: "bob" } });
  expect((await askCairn(at, ["show", run])).out).toMatch(
    /granted +\$0.50, 3 beats, beyond its budget\nassigned +to bob/,
  );
});
