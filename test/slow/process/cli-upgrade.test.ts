/** A deployment under a run, with real processes: the agent's file changes while nobody works, or while somebody does. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  PATIENT,
  type Desk,
  type Running,
  cairn,
  cairnRunning,
  desk,
  documentOf,
  input,
  linesOf,
  until,
} from "../../support/cli.ts";

/** Other code under the agent's name. */
function deploy(at: Desk, ...changes: readonly (readonly [from: string, to: string])[]): void {
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

const shown = (at: Desk, run: string) => documentOf(at, ["show", run]);
const reaches = (at: Desk, run: string, status: string): Promise<void> =>
  until(async () => expect((await shown(at, run))["status"]).toBe(status));

async function stopped({ child, ended }: Running): Promise<void> {
  child.kill("SIGTERM");
  expect((await ended).exit).toBe(0);
}

/** A run that waits at a gate; nobody works on it any more. */
async function atGate(at: Desk): Promise<string> {
  const { run } = await documentOf(at, ["start", "clerk", "--input", input("pay")]);
  const work = cairnRunning(at, ["work"]);
  await reaches(at, String(run), "waiting");
  await stopped(work);
  return String(run);
}

const kinds = async (at: Desk, run: string) => linesOf((await cairn(at, ["timeline", run, "--json"])).out);

it("a run follows its agent: whoever works next has the new file, and the first beat under it says so", async () => {
  const at = desk(PATIENT);
  const run = await atGate(at);
  deploy(at, SECOND);
  expect((await cairn(at, ["approve", run])).exit).toBe(0);
  const refused = await cairn(at, ["resume", run, "--upgrade"]);
  expect([refused.exit, refused.err]).toEqual([4, expect.stringContaining("waits for no upgrade")]);
  cairnRunning(at, ["work"]);
  await reaches(at, run, "completed");
  const changed = (await kinds(at, run)).filter(({ kind }) => kind === "AgentChanged");
  expect(changed).toMatchObject([{ from: "1", to: "2" }]);
  expect(changed[0]).not.toHaveProperty("by");
});

it("a pinned run waits for somebody to accept the version, calls nothing meanwhile, and goes on then", async () => {
  const at = desk(PATIENT);
  deploy(at, PINNED);
  const run = await atGate(at);
  deploy(at, SECOND);
  expect((await cairn(at, ["approve", run])).exit).toBe(0);
  const work = cairnRunning(at, ["work"]);
  await reaches(at, run, "blocked");
  await until(async () =>
    expect(await shown(at, run)).toMatchObject({
      ...{ phase: "AwaitingAgent", agentVersion: "1", beats: 1 },
      waitsFor: { kind: "upgrade", from: "1", to: "2", accepted: false },
    }),
  );
  expect((await cairn(at, ["show", run])).out).toContain(`npx cairn resume ${run} --upgrade`);
  const watched = await cairn(at, ["watch", run]);
  expect([watched.exit, watched.out]).toEqual([4, expect.stringContaining("waits for an upgrade")]);
  const accepted = await documentOf(at, ["resume", run, "--upgrade"]);
  expect(accepted).toMatchObject({ run, upgrade: { from: "1", to: "2" }, accepted: true });
  await reaches(at, run, "completed");
  const changed = (await kinds(at, run)).filter(({ kind }) => kind === "AgentChanged");
  expect(changed).toMatchObject([{ from: "1", to: "2", by: accepted["by"] }]);
  await stopped(work);
});

it("a worker that is at work keeps the code that it loaded: a change counts for the next one", async () => {
  const at = desk(PATIENT);
  const { run } = await documentOf(at, ["start", "clerk", "--input", input("pay")]);
  cairnRunning(at, ["work", "--workers", "1"]);
  await reaches(at, String(run), "waiting");
  deploy(at, SECOND);
  expect((await cairn(at, ["approve", String(run)])).exit).toBe(0);
  await reaches(at, String(run), "completed");
  expect((await kinds(at, String(run))).map(({ kind }) => kind)).not.toContain("AgentChanged");
});
