/** The runner of mutants is tested itself: it reports what it cannot kill or judge, and fails then. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { hunt } from "../../mutation/run.ts";
import { parseTable } from "../../mutation/table.ts";

const FILE = "src/protocol/mutex-lease.ts";
const HELD = " && turn.now < before.until";
const EQUIVALENT = ` && (turn.now < before.until)`;

const tableOf = (...lines: readonly string[]): string => [`# ${FILE}`, ...lines].join("\n");

async function play(...lines: readonly string[]) {
  const said: string[] = [];
  const isOver = await hunt({ mutants: parseTable(tableOf(...lines)), say: (line) => void said.push(line) });
  return { isOver, said: said.join("\n") };
}

test("reports a survivor, and a text that is no program as broken, and fails", async () => {
  const { isOver, said } = await play(
    ...["nothing is broken [schedule 46]", `  - ${HELD}`, `  + ${EQUIVALENT}`],
    ...["no rule at all [schedule 46]", `  - ${HELD}`, "  +  && absent"],
  );
  expect(isOver).toBe(false);
  expect(said).toMatch(/^SURVIVED .* nothing is broken .*sweeper\.test\.ts "schedule 46:"$/m);
  expect(said).toMatch(/^BROKEN .* no rule at all .*ReferenceError: absent is not defined/m);
  expect(said).toMatch(/^0 of 2 mutants killed$/m);
}, 60_000);

test("judges no mutant by a suite that fails over unchanged sources", async () => {
  // It reads the README, which a copy does not have.
  const failing = "test/repo/packed-readme.test.ts";
  const { isOver, said } = await play(`a mutex lease without a wait [${failing}]`, `  - ${HELD}`);
  expect([isOver, said]).toEqual([
    false,
    expect.stringMatching(/^BROKEN .* test\/repo\/packed-readme\.test\.ts: fails without any mutant$/m),
  ]);
}, 60_000);

test("plays no mutant when the table does not fit the checkout", async () => {
  const { isOver, said } = await play("schedule 46: of another time", "  - no such text");
  expect([isOver, said]).toEqual([false, expect.stringContaining("must have this text once, and has it 0 times")]);
});

test("begins no mutant after its time, and says how many are left", async () => {
  const said: string[] = [];
  const lines = ["schedule 46: killed", `  - ${HELD}`, "  +  && turn.now < 0"];
  const mutants = parseTable(tableOf(...lines));
  const isOver = await hunt({ mutants, say: (line) => void said.push(line), minutes: 0 });
  expect([isOver, said]).toEqual([true, ["0 of 0 mutants killed, and 1 were not played within 0 minutes"]]);
});

test("the command exits 1 when a mutant survives, 0 when all are killed, and 2 when none has the name", () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-table-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const table = join(dir, "mutants.txt");
  writeFileSync(
    table,
    tableOf(
      ...[
        "schedule 46: killed",
        `  - ${HELD}`,
        "  +  && turn.now < 0",
        "schedule 46: survives",
        `  - ${HELD}`,
        `  + ${EQUIVALENT}`,
      ],
    ),
  );
  const command = (only: string) => {
    const args = [join(import.meta.dirname, "../../mutation/run.ts"), "--table", table, "--only", only];
    return spawnSync(process.execPath, args, { encoding: "utf8" });
  };
  expect(command("survives")).toMatchObject({ status: 1, stdout: expect.stringMatching(/^0 of 1 mutants killed$/m) });
  expect(command("killed")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^1 of 1 mutants killed$/m) });
  expect(command("absent")).toMatchObject({ status: 2, stderr: expect.stringMatching(/^No mutant has "absent"/) });
}, 120_000);
