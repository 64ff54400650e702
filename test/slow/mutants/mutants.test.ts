/** The hunt for mutants is itself hunted: what it does not kill it must say, and fail. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hunt } from "../../../scripts/mutants/hunt.ts";
import type { Mutant } from "../../../scripts/mutants/mutant.ts";

const TURN = "src/protocol/mutex-lease.ts";
const KILLED_BY = { kind: "schedule", row: 46 } as const;
const HELD = " && turn.now < before.until";

const mutant = (name: string, to: string, from = HELD): Mutant => ({
  ...{ name, killedBy: KILLED_BY },
  changes: [{ file: TURN, from, to }],
});

async function hunted(...mutants: readonly Mutant[]) {
  const lines: string[] = [];
  const isOver = await hunt({ mutants, say: (line) => void lines.push(line) });
  return { isOver, said: lines.join("\n") };
}

test("what changes nothing survives, what makes no sense is not counted as killed, and the hunt fails", async () => {
  const idle = mutant("nothing is broken", HELD);
  const nonsense = mutant("no rule at all", " && nobody");
  const { isOver, said } = await hunted(idle, nonsense);
  expect(isOver).toBe(false);
  expect(said).toMatch(/^SURVIVED .* nothing is broken .*sweeper\.test\.ts "schedule 46:"$/m);
  expect(said).toMatch(/^BROKEN .* no rule at all .*ReferenceError: nobody is not defined/m);
  expect(said).toMatch(/^0 of 2 mutants killed$/m);
}, 60_000);

test("a suite that fails without any mutant makes it fail, and no mutant is played", async () => {
  const absent = { kind: "tests", file: "test/crash/absent.test.ts", test: "no such test" } as const;
  const { isOver, said } = await hunted({ ...mutant("a turn that nobody waits for", ""), killedBy: absent });
  expect([isOver, said]).toEqual([false, expect.stringMatching(/^fails without any mutant: test\/crash\/absent/)]);
}, 60_000);

test("a mutant whose text is not there any more is an error", async () => {
  await expect(hunted(mutant("of another time", "", "no such text"))).rejects.toThrow(
    'mutant "of another time": src/protocol/mutex-lease.ts does not have "no such text"',
  );
});

test("without the test that kills it a mutant survives, and the command exits 1", () => {
  const root = join(import.meta.dirname, "../../..");
  const words = ["scripts/mutants.ts", "--without", "schedule 46"];
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: root, encoding: "utf8" });
  expect(stdout).toMatch(/^SURVIVED .* schedule 46: /m);
  expect(status).toBe(1);
}, 60_000);
