/** `cairn memory` over a store in a folder: which memory is meant, what is shown of it, and what is removed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openNamedStore } from "../../src/client/open-store.ts";
import { memoryLine } from "../../src/render/timeline.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { runCli, runCliAt } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const SDK = join(import.meta.dirname, "../../src/index.ts");

/** A folder with agents, whose names and memories are these, and a store with two entries of the memory `harbour`. */
async function project(agents: Readonly<Record<string, string>> = { pilot: "harbour" }): Promise<string> {
  const dir = temporaryDir();
  const text = Object.entries(agents).map(
    ([name, scope]) =>
      `export const ${name} = defineAgent({ name: "${name}", version: "1", task: z.object({}), model: scriptedModel({ name: "hello", reply: () => ({ text: "hello" }) }), instructions: "", tools: {}, memory: { scope: "${scope}" } });\n`,
  );
  const imports = `import * as z from ${JSON.stringify(import.meta.resolve("zod"))};\nimport { defineAgent, scriptedModel } from ${JSON.stringify(SDK)};\n`;
  writeFileSync(join(dir, "agents.ts"), imports + text.join(""));
  writeFileSync(join(dir, "cairn.config.ts"), `export const config = { agents: ["./agents.ts"] };\n`);
  const { exit } = await runCli(dir, "token", "create", "--scopes", "admin");
  expect(exit).toBe(0);
  const opened = await openNamedStore({ store: dir, world: undefined });
  const memory = memoryOf(opened.world, { tenant: "local", scope: "harbour" });
  await memory.put({
    id: "ferry",
    text: "Ferries leave\nat \u001b[31mnine\u001b[0m.",
    tags: ["ferry"],
    source: "run x",
  });
  await memory.put({ id: "train", text: "Trains leave at ten." });
  await memoryOf(opened.world, { tenant: "acme", scope: "harbour" }).put({ id: "theirs", text: "Another tenant's." });
  opened.close();
  return dir;
}

test("lists, searches and shows the only memory of a project, with control characters as escapes", async () => {
  const dir = await project();
  const { exit, out } = await runCli(dir, "memory", "list");
  expect(exit).toBe(0);
  expect(out).toMatch(/^memory harbour: 2 entries of at most 500\nID +WRITTEN +TAGS +TEXT\n/);
  expect(out).toMatch(/ferry +[\d:]+ +ferry +Ferries leave at \\u001b\[31mnine\\u001b\[0m\.\n/);
  expect(out).not.toContain("\u001b");
  const found = await runCli(dir, "memory", "search", "ten", "zeppelins");
  expect(found.out).toContain("Trains leave at ten.");
  expect(found.out).not.toContain("Ferries");
  const shown = await runCli(dir, "memory", "show", "ferry");
  expect(shown.out).toMatch(
    /^memory +harbour\nid +ferry\nwritten +.*\ntags +ferry\nsource +run x\n\nFerries leave\nat \\u001b\[31m/,
  );
  const lines = (await runCli(dir, "memory", "list", "--json", "--limit", "1")).out.trim().split("\n");
  expect(lines.map((line) => Object.keys(JSON.parse(line) as object))).toHaveLength(1);
  expect(JSON.parse((await runCli(dir, "memory", "show", "ferry", "--json")).out)).toMatchObject({
    scope: "harbour",
    id: "ferry",
  });
});

test("names the memory by agent, by file or by scope, of one tenant", async () => {
  const dir = await project({ pilot: "harbour", clerk: "desk" });
  for (const words of [["pilot"], ["./agents.ts#pilot"], ["--agent", "pilot"], ["--scope", "harbour"]]) {
    expect(
      (await runCliAt({ dir, person: null }, "memory", "list", ...words.map((word) => word.replace("./", `${dir}/`))))
        .out,
    ).toContain("2 entries");
  }
  expect((await runCli(dir, "memory", "list", "clerk")).out).toMatch(
    /^memory desk: 0 entries of at most 500\nnothing is kept yet/,
  );
  const theirs = await runCli(dir, "memory", "list", "--scope", "harbour", "--tenant", "acme");
  expect(theirs.out).toContain("Another tenant's.");
  const nothing = await runCli(dir, "memory", "search", "zeppelin", "--agent", "pilot");
  expect(nothing.out).toContain("no entry has a word of: zeppelin");
});

test.each<[readonly string[], number, RegExp]>([
  [
    ["list"],
    2,
    /no memory is named\nwhy: the agents have several: desk, harbour\nnext: npx cairn memory list --scope desk/,
  ],
  [["list", "pilto"], 3, /there is no agent named "pilto"[\s\S]*npx cairn memory list pilot/],
  [["list", "pilot", "--scope", "desk"], 2, /two memories are named/],
  [["list", "--scope", "a/b"], 2, /is no name of a memory/],
  [["show", "absent", "--agent", "pilot"], 3, /MemoryEntryUnknown: the memory harbour has no entry "absent"/],
  [["forget", "absent", "--agent", "pilot", "--yes"], 3, /MemoryEntryUnknown/],
  [["forget", "--agent", "pilot"], 2, /name one entry, or --all/],
  [["forget", "ferry", "--all", "--agent", "pilot"], 2, /name one entry, or --all/],
  [
    ["forget", "ferry", "--agent", "pilot"],
    2,
    /NotConfirmed: nothing was forgotten: this removes ferry of memory harbour/,
  ],
  [["forget", "--all", "--agent", "pilot"], 2, /this removes 2 entries of memory harbour, and every source/],
])("refuses %j by name", async (words, exit, says) => {
  const dir = await project({ pilot: "harbour", clerk: "desk" });
  const refused = await runCli(dir, "memory", ...words);
  expect({ exit: refused.exit, err: refused.err }).toEqual({ exit, err: expect.stringMatching(says) });
  expect((await runCli(dir, "memory", "list", "pilot")).out).toContain("2 entries");
});

test("forgets an entry after a yes, and all with --yes, and the audit log has both", async () => {
  const dir = await project();
  const asked: string[] = [];
  const person = async (question: string) => (asked.push(question), "yes");
  const one = await runCliAt({ dir, person }, "memory", "forget", "ferry", "--why", "it moved");
  expect({ exit: one.exit, out: one.out }).toEqual({
    exit: 0,
    out: expect.stringMatching(/^ferry is forgotten: no later run recalls it\./),
  });
  expect(asked).toEqual([expect.stringContaining('forget ferry of memory harbour, "Ferries leave at ')]);
  const all = await runCli(dir, "memory", "forget", "--all", "--yes", "--json");
  expect(JSON.parse(all.out)).toEqual({ scope: "harbour", entries: 1, sources: 0 });
  expect((await runCli(dir, "memory", "list")).out).toContain("0 entries");
  expect((await runCli(dir, "memory", "list", "--tenant", "acme")).out).toContain("1 entry of");
  const log = (await runCli(dir, "audit-log", "--json")).out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(log.slice(0, 3)).toMatchObject([
    { operation: "memory forget --all", outcome: "forgotten", details: { scope: "harbour", confirmed: true } },
    { operation: "memory forget --all", outcome: "notConfirmed" },
    { operation: "memory forget", actor: "ada", outcome: "forgotten", why: "it moved", details: { id: "ferry" } },
  ]);
});

test("names an entry that is damaged and the command that removes it, which does", async () => {
  const dir = await project();
  const db = new DatabaseSync(join(dir, "cairn.sqlite"));
  db.exec("UPDATE records SET body = replace(body, 'nine', 'five') WHERE id = 'ferry'");
  db.close();
  for (const words of [["list"], ["search", "leave"]]) {
    const { exit, out } = await runCli(dir, "memory", ...words);
    expect({ exit, out }).toEqual({
      exit: 0,
      out: expect.stringMatching(/^memory harbour: 2 entries of at most 500\n/),
    });
    expect(out).toContain("Trains leave at ten.");
    expect(out).toMatch(/\nferry cannot be read; remove it: .*cairn memory forget ferry --scope harbour --yes.*\n$/);
  }
  const lines = (await runCli(dir, "memory", "list", "--json")).out.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { id: "train" },
    { id: "ferry", damaged: "it cannot be read" },
  ]);
  const forgotten = await runCli(dir, "memory", "forget", "ferry", "--scope", "harbour", "--yes");
  expect({ exit: forgotten.exit, out: forgotten.out }).toEqual({
    exit: 0,
    out: expect.stringMatching(/^ferry is forgotten/),
  });
  expect((await runCli(dir, "memory", "list")).out).toMatch(/^memory harbour: 1 entry of/);
});

test.each([
  [1, "recalled from memory: e0"],
  [3, "recalled from memory: e0, e1, e2"],
  [5, "recalled from memory: e0, e1, e2 and 2 more"],
])("names up to three of %i entries in a line of the timeline", (count, says) => {
  const refs = Array.from({ length: count }, (_, n) => ({ id: `e${n}`, digest: "d" }));
  const section = { kind: "inline", json: "text" } as const;
  expect(memoryLine({ kind: "Recalled", at: 1, refs, section })).toEqual({ says });
  expect(memoryLine({ kind: "Learned", at: 1, refs }).says).toMatch(/^added to memory: e0/);
});
