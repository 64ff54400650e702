/** `export` and `replay` as commands, on a store in a folder: what they print, write and refuse, and how they end. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createLocalHarness, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal } from "../support/harness/harness.ts";
import { type CliOutput, runCli } from "../support/processes/cli-in-process.ts";

async function documentOf(dir: string, ...words: readonly string[]): Promise<Record<string, unknown>> {
  return JSON.parse((await runCli(dir, ...words, "--json")).out) as Record<string, unknown>;
}

async function ended(): Promise<{ readonly dir: string; readonly run: string }> {
  const { dir, world } = createLocalHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(2) });
  const payload = await beginRun(world, agent, {});
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  return { dir, run: payload.run };
}

test("an export file is complete or absent, and never replaces a file", async () => {
  const { dir, run } = await ended();
  const file = join(dir, `${run}.jsonl.gz`);
  const told = await runCli(dir, "export", run.slice(0, 14));
  expect(told).toMatchObject({ exit: 0, err: "" });
  expect(told.out).toMatch(/\d KB\n.*actor: 5 commits, 2 snapshots, 6 messages, 2 calls, 0 blobs\nreplay it, /);
  expect(await runCli(dir, "export", run)).toMatchObject({
    exit: 4,
    err: expect.stringContaining("FileExists") as string,
  });
  const lines = await runCli(dir, "export", run, "--out", "-");
  expect(lines.out).toBe(gunzipSync(readFileSync(file)).toString("utf8"));
  const text = await documentOf(dir, "export", run, "--out", "plain.jsonl");
  expect(text).toMatchObject({ run, agent: "actor", status: "completed", commits: 5, marks: 2, leftOut: [] });
  expect(readFileSync(join(dir, "plain.jsonl"), "utf8")).toBe(lines.out);
  const nowhere = await runCli(dir, "export", run, "--out", "no/such/folder");
  expect(nowhere).toMatchObject({ exit: 2, err: expect.stringContaining("FileUnwritable") as string });
  expect(readdirSync(dir).filter((name) => name.includes("part"))).toEqual([]);
});

test("a replay reports its result, from a run or its file, in full or up to a version", async () => {
  const { dir, run } = await ended();
  await runCli(dir, "export", run, "--out", "run.jsonl.gz");
  const stored = await documentOf(dir, "replay", run);
  expect(stored).toMatchObject({
    ...{
      run,
      agent: "actor",
      status: "completed",
      phase: "Completed",
      version: 5,
      of: 5,
      at: null,
      beats: 3,
      calls: 2,
    },
    ...{ result: "over", failure: null, replayed: { commits: 5, snapshots: 2 } },
    ...{ identical: true, differs: null, against: null },
  });
  expect(await documentOf("/nowhere", "replay", join(dir, "run.jsonl.gz"))).toEqual(stored);
  const { out, exit } = await runCli(dir, "replay", run);
  expect({ exit, out }).toEqual({
    exit: 0,
    out: expect.stringMatching(/\nresult\nover\n\nfolded 5 commits, .*\nidentical: .*\n$/),
  });
  const early = await documentOf(dir, "replay", run, "--at", "2");
  expect(early).toMatchObject({ version: 2, of: 5, at: 2, status: "running", result: null, identical: true });
});

test("a replay of damaged data exits with 1 and names the damage", async () => {
  const { dir, run } = await ended();
  const { out } = await runCli(dir, "export", run, "--out", "-");
  writeFileSync(join(dir, "torn.jsonl"), out.replace('"beats":3', '"beats":2'));
  const torn = await runCli(dir, "replay", "./torn.jsonl", "--json");
  expect({ exit: torn.exit, out: JSON.parse(torn.out) }).toMatchObject({
    exit: 1,
    out: { error: { code: "DigestMismatch" } },
  });
  const store = new DatabaseSync(join(dir, "cairn.sqlite"));
  store.exec("DELETE FROM objects WHERE key LIKE '%/snapshots/00000000-%'");
  store.close();
  const lost = await runCli(dir, "replay", run);
  expect({ exit: lost.exit, out: lost.out }).toEqual({
    exit: 1,
    out: expect.stringMatching(/version 0 cannot be read: .* is missing\n.*verify/),
  });
  expect(await documentOf(dir, "replay", run)).toMatchObject({ run, identical: false, differs: { version: 0 } });
  const refused = await runCli(dir, "export", run);
  expect({ exit: refused.exit, err: refused.err }).toEqual({
    exit: 1,
    err: expect.stringMatching(/cannot be exported.*\nwhy.*\nnext: .*verify/),
  });
  expect(readdirSync(dir).filter((name) => name.includes("jsonl.gz"))).toEqual([]);
});

test("an invalid combination of options is refused with what to type", async () => {
  const { dir, world } = createLocalHarness();
  const { run } = await beginRun(world, scriptedAgent({}), {});
  const told = await runCli(dir, "export", run, "--out", "queued.jsonl");
  expect({ exit: told.exit, out: told.out }).toEqual({
    exit: 0,
    out: expect.stringContaining("the run is queued: the export ends with version 0"),
  });
  expect(await documentOf(dir, "replay", "queued.jsonl")).toMatchObject({
    status: "queued",
    version: 0,
    identical: true,
  });
  const asked = [
    ["replay", run, "--at", "7"],
    ["replay", run, "--at", "soon"],
    ["replay", "nothing.gz"],
    ["replay", "nobody"],
    ["export", "nobody"],
  ];
  const answers: CliOutput[] = [];
  for (const words of asked) answers.push(await runCli(dir, ...words));
  expect(answers.map(({ exit }) => exit)).toEqual([3, 2, 3, 3, 3]);
  for (const { err } of answers) expect(err).toMatch(/^error \w+: .+\nwhy: .+\nnext: npx cairn .+\n$/);
});

test("an export that a tool copied as text says so", async () => {
  const { dir, run } = await ended();
  await runCli(dir, "export", run, "--out", "plain.jsonl");
  const text = readFileSync(join(dir, "plain.jsonl"), "utf8");
  const changed = [
    [text.replaceAll("\n", "\r\n"), "its lines end with CR LF"],
    [`\u{feff}${text}`, "it begins with a byte order mark"],
  ] as const;
  for (const [copied, why] of changed) {
    writeFileSync(join(dir, "copied.jsonl"), copied);
    for (const command of ["verify", "replay"]) {
      const { exit, err, out } = await runCli(dir, command, join(dir, "copied.jsonl"));
      expect({ exit, printed: `${err}${out}` }).toEqual({ exit: 1, printed: expect.stringContaining(why) });
    }
  }
});
