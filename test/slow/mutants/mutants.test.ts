/**
 * The runner of mutants is tested itself: it reports what it cannot kill or judge, and fails then. What the machine may
 * have caused is judged by a second play, and a survivor from before a change does not refuse the change.
 */
import { spawn, spawnSync } from "node:child_process";
import { once as event } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openCourt } from "../../mutation/courts.ts";
import { type Hunt, hunt } from "../../mutation/hunt.ts";
import { parseTable } from "../../mutation/table.ts";
import { waitUntil } from "../../support/gate/safety.ts";

const FILE = "src/protocol/mutex-lease.ts";
const HELD = " && turn.now < before.until";
const EQUIVALENT = ` && (turn.now < before.until)`;
const BROKEN = " && turn.now < 0";

/** It loads two small modules. A suite of a schedule loads the engine, in each court anew. */
const SMALL = "test/protocol/mutex-lease.test.ts";

const tableOf = (...lines: readonly string[]): string => [`# ${FILE}`, ...lines].join("\n");

const mutant = (name: string, to: string): readonly string[] => [`${name} [${SMALL}]`, `  - ${HELD}`, `  + ${to}`];

async function playHunt(options: Omit<Hunt, "say">) {
  const said: string[] = [];
  const isOver = await hunt({ ...options, say: (line) => void said.push(line) });
  return { isOver, said: said.join("\n") };
}

const play = (...lines: readonly string[]) => playHunt({ mutants: parseTable(tableOf(...lines)) });

function makeDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "cairn-table-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test("reports a survivor, and a text that is no program as broken, and fails", async () => {
  const { isOver, said } = await play(
    ...["nothing is broken [schedule 46]", `  - ${HELD}`, `  + ${EQUIVALENT}`],
    ...mutant("no rule at all", " && absent"),
  );
  expect(isOver).toBe(false);
  expect(said).toMatch(/^SURVIVED .* nothing is broken .*sweeper\.test\.ts "schedule 46:"$/m);
  expect(said).toMatch(/^BROKEN .* no rule at all .*ReferenceError: absent is not defined/m);
  expect(said).toMatch(/^0 of 2 mutants killed$/m);
});

test("judges by seeds of the simulation, on a machine of any speed", async () => {
  const court = openCourt({ sound: new Map(), factor: 1.234 });
  onTestFinished(() => court.close());
  const lines = (seeds: number, to: string) => [`m [${seeds} seeds]`, `  - ${HELD}`, `  + ${to}`];
  const [survivor] = parseTable(tableOf(...lines(3, EQUIVALENT)));
  const [absent] = parseTable(tableOf(...lines(3, " && absent")));
  if (survivor === undefined || absent === undefined) throw new Error("the table has both");
  expect(await court.judge(survivor)).toEqual({ kind: "passed", reason: "", isLate: false });
  expect(await court.judge(absent)).toMatchObject({ kind: "broken", isLate: false });
});

test("judges no mutant by a suite that fails over unchanged sources", async () => {
  // It lists the tracked files, and a copy is no repository.
  const failing = "test/repo/verify/paths.test.ts";
  const { isOver, said } = await play(`a mutex lease without a wait [${failing}]`, `  - ${HELD}`);
  expect({ isOver, said }).toEqual({
    isOver: false,
    said: expect.stringMatching(/^BROKEN .* test\/repo\/verify\/paths\.test\.ts: fails without any mutant$/m),
  });
});

test("plays no mutant when the table does not fit the checkout", async () => {
  const { isOver, said } = await play("schedule 46: of another time", "  - no such text");
  expect({ isOver, said }).toEqual({
    isOver: false,
    said: expect.stringContaining("must have this text once, and has it 0 times"),
  });
});

test("begins no mutant after its time, and says how many are left", async () => {
  const mutants = parseTable(tableOf(...mutant("killed", BROKEN)));
  expect(await playHunt({ mutants, minutes: 0 })).toEqual({
    isOver: true,
    said: "0 of 0 mutants killed, and 1 were not played in time",
  });
});

test("bounds what a change touches by minutes of its own", async () => {
  const touched = parseTable(tableOf(...mutant("touched", BROKEN)));
  const { said } = await playHunt({ touched, mutants: [], touchedMinutes: 0 });
  expect(said).toBe("0 of 0 mutants killed, and 1 were not played in time");
});

test("plays what a change touches, whatever the minutes", async () => {
  const [touched = [], mutants = []] = ["touched", "nearby"].map((name) =>
    parseTable(tableOf(...mutant(name, BROKEN))),
  );
  const { isOver, said } = await playHunt({ touched, mutants, minutes: 0 });
  expect(isOver).toBe(true);
  expect(said).toMatch(/^killed .* touched /m);
  expect(said).toMatch(/^1 of 1 mutants killed, and 1 were not played in time$/m);
});

test("lets no killed mutant reach the next one", async () => {
  const alternating = [BROKEN, EQUIVALENT, BROKEN, EQUIVALENT, BROKEN, EQUIVALENT];
  const { said } = await play(...alternating.flatMap((to, index) => mutant(`m${index}`, to)));
  const fates = ["m0", "m1", "m2", "m3", "m4", "m5"].map(
    (name) => new RegExp(`^(\\w+) .* ${name} `, "m").exec(said)?.[1],
  );
  expect(fates).toEqual(["killed", "SURVIVED", "killed", "SURVIVED", "killed", "SURVIVED"]);
});

/** A text that does this once, and says only what follows when it is played again. */
function once(deed: string, text: string): string {
  const marker = JSON.stringify(join(makeDir(), "done"));
  const fs = 'process.getBuiltinModule("node:fs")';
  return ` && (${fs}.existsSync(${marker}) || (${fs}.writeFileSync(${marker}, ""), ${deed}))${text}`;
}

const LATE = '(() => { throw Object.assign(new Error("no such event"), { name: "MissingEvent" }); })()';
const GONE = 'process.kill(process.ppid, "SIGKILL")';

test("plays again, alone, what was late or ended the process, and believes the second verdict", async () => {
  const { isOver, said } = await play(
    ...mutant("late once", once(LATE, EQUIVALENT)),
    ...mutant("always late", ` && ${LATE}`),
    ...mutant("gone once", once(GONE, BROKEN)),
  );
  const [first = "", second = ""] = said.split(/^3 again, alone, since something was late:$/m);
  expect(first).toMatch(/^killed .* late once .*: MissingEvent: no such event$/m);
  expect(first).toMatch(/^BROKEN .* gone once .*: the process of the suite exited$/m);
  expect(second).toMatch(/^SURVIVED .* late once /m);
  expect(second).toMatch(/^killed .* always late .*: MissingEvent: no such event$/m);
  expect(second).toMatch(/^killed .* gone once /m);
  expect(second).toMatch(/^2 of 3 mutants killed$/m);
  expect(isOver).toBe(false);
});

test("refuses no survivor that survives over the base, too", async () => {
  const mutants = parseTable(tableOf(...mutant("known", EQUIVALENT)));
  const { isOver, said } = await playHunt({ touched: mutants, mutants: [], base: { commit: "HEAD", mutants } });
  expect(isOver).toBe(true);
  expect(said).toMatch(/^NOTE SURVIVED ALSO BEFORE .* known /m);
  expect(said).toMatch(/^0 of 1 mutants killed, 1 survived also before$/m);
});

test("refuses a survivor that the base kills or does not have", async () => {
  const touched = parseTable(tableOf(...mutant("new", EQUIVALENT), ...mutant("weaker", EQUIVALENT)));
  const before = parseTable(tableOf(...mutant("weaker", BROKEN), ...mutant("gone", EQUIVALENT)));
  const { isOver, said } = await playHunt({ touched, mutants: [], base: { commit: "HEAD", mutants: before } });
  expect(isOver).toBe(false);
  expect(said).not.toMatch(/ALSO BEFORE/);
  expect(said).toMatch(/^0 of 2 mutants killed$/m);
});

test("the command exits 1 when a mutant survives, 0 when all are killed, and 2 when none has the name", () => {
  const table = join(makeDir(), "mutants.txt");
  writeFileSync(table, tableOf(...mutant("killed", BROKEN), ...mutant("survives", EQUIVALENT)));
  const command = (...words: readonly string[]) => {
    const args = [join(import.meta.dirname, "../../mutation/run.ts"), "--table", table, ...words];
    return spawnSync(process.execPath, args, { encoding: "utf8" });
  };
  // Both rows are new since the last commit. One that is new and survives is refused.
  const { status, stdout } = command("--since", "HEAD");
  expect({ status, stdout }).toEqual({
    status: 1,
    stdout: expect.stringMatching(/^since \w+: the source, suite or row of 2 of 2 mutants has changed$/m),
  });
  expect(stdout).toMatch(/^1 of 2 mutants killed$/m);
  expect(command("--only", "killed", "--since", "HEAD")).toMatchObject({ status: 0 });
  expect(command("--only", "absent")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^No mutant has "absent"/),
  });
  expect(command("--since", "no-such-commit")).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^--since takes a commit, not "no-such-commit"/),
  });
});

test("a hunt that is ended leaves no process of a suite and no copy", async () => {
  const dir = makeDir();
  const table = join(dir, "mutants.txt");
  // More seeds than anybody waits for, which are also the name of its process.
  const seeds = "987654321";
  writeFileSync(table, tableOf(`endless [${seeds} seeds]`, `  - ${HELD}`, `  + ${EQUIVALENT}`));
  const args = [join(import.meta.dirname, "../../mutation/run.ts"), "--table", table];
  const tmp = makeDir();
  const hunted = spawn(process.execPath, args, { stdio: "ignore", env: { ...process.env, TMPDIR: tmp } });
  const played = (): readonly string[] =>
    spawnSync("ps", ["-A", "-o", "args="], { encoding: "utf8" })
      .stdout.split("\n")
      .filter((line) => line.includes(`--seeds ${seeds}`));
  await waitUntil(() => expect(played()).not.toEqual([]));
  hunted.kill("SIGTERM");
  const [status] = await event(hunted, "exit");
  expect(status).toBe(143);
  await waitUntil(() => expect(played()).toEqual([]));
  expect(readdirSync(tmp)).toEqual([]);
});
