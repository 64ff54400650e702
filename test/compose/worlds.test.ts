/** Worlds for the command line: each is known by its provider, and one more takes one more provider. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { awsProvider } from "../../src/compose/worlds/aws.ts";
import { memoryProvider } from "../../src/compose/worlds/memory.ts";
import { localProvider } from "../../src/compose/worlds/local.ts";
import { systemClock } from "../../src/adapters/local/clock.ts";
import { runCommand } from "../../src/cli/program.ts";
import { settingsOf } from "../../src/compose/settings.ts";
import { WORLDS } from "../../src/compose/worlds.ts";
import { NO_SEAL_KEYS } from "../../src/ports/seal-keys.ts";
import type { ConfiguredWorld, WorldProvider } from "../../src/ports/world-provider.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

const MACHINE = "arn:aws:states:eu-west-1:000000000000:stateMachine:cairn-dev";
const ENV = { CAIRN_TABLE: "cairn-dev", CAIRN_BUCKET: "cairn-dev-1", CAIRN_MACHINE: MACHINE };

function configured(provider: WorldProvider, cwd: string): ConfiguredWorld {
  const found = provider.configure({ env: ENV, cwd, options: {}, config: {} });
  if (found.kind === "invalid") throw new Error(found.trouble.what);
  return found.world;
}

describe.each([localProvider, awsProvider, memoryProvider(systemClock)])("the provider of $name", (provider) => {
  test("has exactly the members that its capabilities promise", async () => {
    const world = configured(provider, temporaryDir());
    expect(world.rollout !== null).toBe(provider.can.rollout);
    expect(world.agents.kind === "files").toBe(provider.can.agentFiles);
    const opened = await world.open({ create: true, limits: limitsFor(10_000), sealKeys: NO_SEAL_KEYS });
    expect(opened.supervision !== null).toBe(provider.driver === null);
    expect(opened.pollMs).toBeGreaterThan(0);
    opened.close();
  });

  test("names its place in a text that any path accepts", () => {
    const { words, place } = configured(provider, temporaryDir());
    const options = Object.fromEntries(
      words.flatMap((word, index) => (word.startsWith("--") ? [[word.slice(2), words[index + 1]]] : [])),
    );
    expect(options["world"]).toBe(provider.name);
    const again = provider.configure({ env: ENV, cwd: "/", options, config: {} });
    expect(again).toMatchObject({ kind: "configured", world: { place } });
  });
});

describe("a world that only the list of providers contains", () => {
  const memory = memoryProvider(systemClock);
  const worlds = [...WORLDS, { name: "memory", options: [], load: async () => memory }];
  const type = async (...words: readonly string[]) => {
    const { shell, said } = createShell({ dir: temporaryDir(), person: null }, words);
    return { exit: await runCommand({ ...shell, worlds }, "0"), ...said };
  };

  test("starts runs and shows them", async () => {
    const started = await type("start", "travel", "--world", "memory", "--input", '{"from":"Berlin","to":"Lisbon"}');
    expect(started).toMatchObject({ exit: 0, err: "" });
    const { out } = await type("list", "--world", "memory", "--json");
    expect(JSON.parse(out)).toMatchObject({ agent: "travel", status: "queued" });
  });

  test("is inspected by the doctor", async () => {
    const { out } = await type("doctor", "--world", "memory", "--json");
    expect(JSON.parse(out)).toMatchObject({ world: "memory", hints: [expect.stringContaining("not kept")] });
  });

  test("refuses operations that it does not support", async () => {
    expect(await type("rollout", "--world", "memory")).toMatchObject({
      exit: 4,
      err: expect.stringContaining("npx cairn rollout --world aws") as string,
    });
    expect(await type("chaos", "travel", "--world", "memory")).toMatchObject({
      exit: 2,
      err: expect.stringContaining("npx cairn chaos travel --world local") as string,
    });
    expect(await type("work", "--world", "memory")).toMatchObject({
      exit: 2,
      err: expect.stringContaining("nothing to supervise in the world memory") as string,
    });
  });

  test("is suggested when another name is mistyped", async () => {
    const { exit, err } = await type("list", "--world", "mars");
    expect(exit).toBe(2);
    expect(err).toContain("there is no world mars");
    expect(err).toContain("there are: local, aws, memory");
  });
});

test("each entry of the list of providers matches the name and the options of its provider", async () => {
  for (const { name, options, load } of WORLDS) {
    const provider = await load();
    expect(provider.name).toBe(name);
    const names = provider.settings.map((setting) => setting.name);
    expect(names).toEqual(expect.arrayContaining(options.map((option) => option.name)));
  }
});

test("an unnamed world lists the missing variables before anything is opened", async () => {
  const { shell, said } = createShell({ dir: temporaryDir(), person: null }, ["list", "--world", "aws", "--json"]);
  expect(await runCommand(shell, "0")).toBe(2);
  expect(JSON.parse(said.out)).toMatchObject({
    error: { code: "WorldIncomplete", missing: awsProvider.settings.map(({ variable }) => variable) },
  });
  // What to type works in a project of a user, which has no scripts of this repository.
  expect(said.out).toContain("export CAIRN_TABLE=… CAIRN_BUCKET=… CAIRN_MACHINE=…");
});

test("a setting of the config that is a limit counts in each world", async () => {
  const dir = temporaryDir();
  writeFileSync(
    join(dir, "cairn.config.ts"),
    "export const config = { agents: [], beatsPerInvocation: 7, keyDays: 2 };",
  );
  for (const flags of [{}, { world: "aws" }]) {
    const { shell } = createShell({ dir, person: null }, ["list"]);
    const { limits } = await settingsOf({ ...shell, env: { ...shell.env, ...ENV } }, flags);
    expect(limits).toMatchObject({ beatsPerInvocation: 7, keyRetentionMs: 2 * 24 * 3_600_000 });
  }
});
