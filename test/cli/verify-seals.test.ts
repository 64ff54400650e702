/** `verify` with and without the key, of a run and of its export; and how keys are given. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { environmentSealKeys } from "../../src/adapters/local/seal-keys.ts";
import { withKernel } from "../../src/features/compose.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { sha256 } from "../../src/codec/canonical.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { runCli } from "../support/processes/cli-in-process.ts";

const KEY = "ab".repeat(32);
const OTHER = "cd".repeat(32);

/** A folder with a run that was sealed with `KEY`; the key lies in no file there. */
async function sealedRun(env: Record<string, string> = { CAIRN_SEAL_KEY: KEY }) {
  const dir = temporaryDir();
  const store = openStore({ dir, create: true });
  const sealKeys = environmentSealKeys({ env, cwd: dir });
  const clock = virtualClock(Date.now());
  const world = withKernel(
    localWorld({ store, clock, limits: limitsFor(3_000), telemetry: { record: () => {} }, sealKeys }),
  );
  const payload = await beginRun(world, scriptedAgent({}), {});
  await drive(runnerOf(world, scriptedAgent({})), payload);
  store.close();
  return { dir, run: payload.run, give: (text: string) => writeFileSync(join(dir, ".env"), text) };
}

describe("verify", () => {
  test("of a run reports whether it is sealed, or that this is unknown", async () => {
    const { dir, run, give } = await sealedRun();
    expect((await runCli(dir, "verify", run)).out).toContain("without that key this process cannot say");
    give(`CAIRN_SEAL_KEY=${KEY}`);
    const { exit, out } = await runCli(dir, "verify", run);
    expect({ exit, out }).toEqual({
      exit: 0,
      out: expect.stringMatching(/^sealed: all of it was written with key [0-9a-f]{12}$/m),
    });
    give(`CAIRN_SEAL_KEY=${OTHER}\nCAIRN_SEAL_KEYS_OLD=${KEY}`);
    expect(JSON.parse((await runCli(dir, "verify", run, "--json")).out)).toMatchObject({
      seal: { is: "sealed", from: 0 },
    });
  });

  test("of an unsealed run explains what that means, and fails when seals are required", async () => {
    const { dir, run, give } = await sealedRun({});
    expect((await runCli(dir, "verify", run)).out).toContain("unsealed: digests detect damage");
    give(`CAIRN_SEAL_KEY=${KEY}\nCAIRN_SEAL=required`);
    const { exit, out } = await runCli(dir, "verify", run);
    expect({ exit, out }).toEqual({ exit: 1, out: expect.stringContaining("forged: ") });
  });

  test("of an export needs no store, and detects a changed file with a matching digest as forged", async () => {
    const { dir, run, give } = await sealedRun();
    give(`CAIRN_SEAL_KEY=${KEY}`);
    const file = join(dir, "run.jsonl");
    expect((await runCli(dir, "export", run, "--out", file)).exit).toBe(0);
    const whole = await runCli(dir, "verify", file);
    expect({ exit: whole.exit, out: whole.out }).toEqual({
      exit: 0,
      out: expect.stringContaining("sealed: all of it was written with key"),
    });
    const lines = readFileSync(file, "utf8").trimEnd().replaceAll('"acted"', '"forged"').split("\n");
    const end = JSON.parse(lines.pop() ?? "") as { digest: string };
    const before = `${lines.join("\n")}\n`;
    writeFileSync(file, `${before}${JSON.stringify({ ...end, digest: sha256(before) })}\n`);
    const forged = await runCli(dir, "verify", file);
    expect({ exit: forged.exit, out: forged.out }).toEqual({ exit: 1, out: expect.stringContaining("forged: ") });
    give("");
    expect((await runCli(dir, "verify", file)).out).toContain("cannot say whether it is forged");
  });
});

describe("a seal key", () => {
  const keysIn = (env: Record<string, string>, cwd = temporaryDir()) => environmentSealKeys({ env, cwd });

  test("is read from the environment or from a file", async () => {
    const dir = temporaryDir();
    writeFileSync(join(dir, "key"), `${KEY}\n`);
    const fromFile = await keysIn({ CAIRN_SEAL_KEY_FILE: "key" }, dir).current();
    expect(fromFile).toEqual(await keysIn({ CAIRN_SEAL_KEY: KEY }).current());
    expect(keysIn({}).mode).toBe("off");
  });

  test.each([
    [{ CAIRN_SEAL_KEY: "short" }, "CAIRN_SEAL_KEY holds no key"],
    [{ CAIRN_SEAL_KEY: KEY, CAIRN_SEAL_KEYS_OLD: `${OTHER},x` }, "CAIRN_SEAL_KEYS_OLD holds no key"],
    [{ CAIRN_SEAL: "required" }, "CAIRN_SEAL_KEY is not set"],
    [{ CAIRN_SEAL_KEY: KEY, CAIRN_SEAL: "yes" }, 'CAIRN_SEAL is "yes"'],
    [{ CAIRN_SEAL_KEY_FILE: "absent" }, "CAIRN_SEAL_KEY_FILE names absent"],
  ] as const)("is refused when it is invalid: %j", async (env, says) => {
    const given = Object.fromEntries(Object.entries(env));
    expect(() => keysIn(given)).toThrow(says);
    const { dir, run, give } = await sealedRun({});
    give(
      Object.entries(given)
        .map(([name, value]) => `${name}=${value}`)
        .join("\n"),
    );
    const { exit, err } = await runCli(dir, "show", run);
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining(`error SealKeyInvalid: ${says}`) });
    expect(err).not.toContain(KEY);
  });
});
