/** What has to notice a mutant, started as a process of its own: nothing that it breaks can break whoever looks. */
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./copy.ts";
import { killGroup } from "../../src/adapters/local/process-identity.ts";
import type { Suite } from "./mutant.ts";

/** A suite that hangs says nothing. */
const SUITE_MS = 90_000;

export interface Noticed {
  /** `passed`: nothing was noticed. `failed`: something was. `broken`: it could not be played as it was meant to be. */
  readonly kind: "passed" | "failed" | "broken";
  /** Which checker noticed it, or what the test said. */
  readonly by: string;
}

export const nameOf = (suite: Suite): string => {
  if (suite.kind === "schedule") return `${fileOf(suite.row)} "schedule ${suite.row}:"`;
  if (suite.kind === "simulation") return `simulation, ${suite.seeds} seeds`;
  return suite.test === undefined ? suite.file : `${suite.file} "${suite.test}"`;
};

/** The test of a schedule is where its name is; there is exactly one. */
function fileOf(row: number): string {
  const dir = "test/schedules";
  const holds = (name: string): boolean =>
    readFileSync(join(ROOT, dir, name), "utf8").includes(`test("schedule ${row}: `);
  const file = readdirSync(join(ROOT, dir)).find(holds);
  if (file === undefined) throw new Error(`no test in ${dir} plays schedule ${row}`);
  return `${dir}/${file}`;
}

const vitest = (file: string, test: string | undefined): readonly string[] => [
  ...["node_modules/vitest/vitest.mjs", "run", file, "--bail=1", "--reporter=dot"],
  ...(test === undefined ? [] : ["-t", test]),
];

function wordsOf(suite: Suite): readonly string[] {
  if (suite.kind === "schedule") return vitest(fileOf(suite.row), `schedule ${suite.row}:`);
  if (suite.kind === "tests") return vitest(suite.file, suite.test);
  return ["scripts/sim.ts", "--seeds", String(suite.seeds), "--first"];
}

export async function play(suite: Suite, dir: string): Promise<Noticed> {
  const { status, said } = await end(dir, wordsOf(suite));
  if (status === 0) return { kind: "passed", by: "" };
  if (status === null) return { kind: "broken", by: `no verdict within ${SUITE_MS} ms` };
  // Text that made no sense was noticed by the language, not by the suite.
  const nonsense = /\b(ReferenceError|SyntaxError|Transform failed|Failed Suites)\b.*/.exec(said);
  if (nonsense !== null) return { kind: "broken", by: nonsense[0] };
  return { kind: "failed", by: /^s\d+: (\w+): /m.exec(said)?.[1] ?? "" };
}

/**
 * Everything that it says, without colours. It is nobody's worker, also where a test started the hunt. What it leaves behind
 * ends with it: a broken rule may well be an endless loop, which would take a core from all that follow.
 */
function end(
  dir: string,
  words: readonly string[],
): Promise<{ readonly status: number | null; readonly said: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | null; said: string }>();
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const env = { ...Object.fromEntries(outer), NO_COLOR: "1" };
  // It is asked to end, and a runner of tests says then what it was at; an endless loop in its worker hears nothing.
  const options = { cwd: dir, env, timeout: SUITE_MS, detached: true } as const;
  const child = spawn(process.execPath, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (said += part.toString()));
  child.on("error", reject);
  child.on("exit", () => {
    if (child.pid !== undefined) killGroup(child.pid);
  });
  child.on("close", (status) => resolve({ status, said }));
  return promise;
}
