/** A deployment under a run, with real processes: the agent's file changes while nobody works, or while somebody does. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  askCairnJson,
  askCairn,
  LONG_TIMEOUTS,
  type CliFolder,
  type CliProcess,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  parseJsonLines,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

/** Other code under the agent's name. */
function deploy(at: CliFolder, ...changes: readonly (readonly [from: string, to: string])[]): void {
  const file = join(at.dir, "clerk.ts");
  const text = changes.reduce(
    (before, [from, to]) => {
      if (!before.includes(from)) throw new Error(`the agent's file does not have ${from}`);
      return before.replace(from, to);
    },
    readFileSync(file, "utf8"),
  );
  writeFileSync(file, text);
}

const PINNED = ['version: "1",', 'version: "1", upgrade: "pin",'] as const;
const SECOND = ['version: "1",', 'version: "2",'] as const;

const shown = (at: CliFolder, run: string) => askCairnJson(at, ["show", run]);
const reaches = (at: CliFolder, run: string, status: string): Promise<void> =>
  waitUntil(async () => expect((await shown(at, run))["status"]).toBe(status));

async function stopped({ child, ended }: CliProcess): Promise<void> {
  child.kill("SIGTERM");
  expect((await ended).exit).toBe(0);
}

/** A run that waits at a gate; nobody works on it any more. */
async function atGate(at: CliFolder): Promise<string> {
  const { run } = await runCairnJson(at, ["start", "clerk", "--input", stepsInput("pay")]);
  const work = spawnCairn(at, ["work"]);
  await reaches(at, String(run), "waiting");
  await stopped(work);
  return String(run);
}

const kinds = async (at: CliFolder, run: string) =>
  parseJsonLines((await askCairn(at, ["timeline", run, "--json"])).out);

it("a run follows its agent: the next supervisor has the new file, and the first beat under it records that", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const run = await atGate(at);
  deploy(at, SECOND);
  expect((await askCairn(at, ["approve", run])).exit).toBe(0);
  const refused = await askCairn(at, ["resume", run, "--upgrade"]);
  expect({ exit: refused.exit, err: refused.err }).toEqual({
    exit: 4,
    err: expect.stringContaining("waits for no upgrade"),
  });
  spawnCairn(at, ["work"]);
  await reaches(at, run, "completed");
  const changed = (await kinds(at, run)).filter(({ kind }) => kind === "AgentChanged");
  expect(changed).toMatchObject([{ from: "1", to: "2" }]);
  expect(changed[0]).not.toHaveProperty("by");
});

it("a pinned run waits until an operator accepts the version, calls nothing meanwhile, and then continues", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  deploy(at, PINNED);
  const run = await atGate(at);
  deploy(at, SECOND);
  expect((await askCairn(at, ["approve", run])).exit).toBe(0);
  const work = spawnCairn(at, ["work"]);
  await reaches(at, run, "blocked");
  await waitUntil(async () =>
    expect(await shown(at, run)).toMatchObject({
      ...{ phase: "AwaitingAgent", agentVersion: "1", beats: 1 },
      waitsFor: { kind: "upgrade", from: "1", to: "2", accepted: false },
    }),
  );
  expect((await askCairn(at, ["show", run])).out).toContain(`npx cairn resume ${run} --upgrade`);
  const watched = await runCairn(at, ["watch", run]);
  expect({ exit: watched.exit, out: watched.out }).toEqual({
    exit: 4,
    out: expect.stringContaining("waits for an upgrade"),
  });
  const accepted = await askCairnJson(at, ["resume", run, "--upgrade"]);
  expect(accepted).toMatchObject({ run, upgrade: { from: "1", to: "2" }, accepted: true });
  await reaches(at, run, "completed");
  const changed = (await kinds(at, run)).filter(({ kind }) => kind === "AgentChanged");
  expect(changed).toMatchObject([{ from: "1", to: "2", by: accepted["by"] }]);
  await stopped(work);
});

it("a running worker keeps the code that it loaded: a change counts for the next worker", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const { run } = await runCairnJson(at, ["start", "clerk", "--input", stepsInput("pay")]);
  spawnCairn(at, ["work", "--workers", "1"]);
  await reaches(at, String(run), "waiting");
  deploy(at, SECOND);
  expect((await askCairn(at, ["approve", String(run)])).exit).toBe(0);
  await reaches(at, String(run), "completed");
  expect((await kinds(at, String(run))).map(({ kind }) => kind)).not.toContain("AgentChanged");
});
