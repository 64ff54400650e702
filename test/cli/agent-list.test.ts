/** `cairn agents` lists what may be started, also beside a file that cannot be loaded. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

test("lists cairn's own agents where there is no config", async () => {
  const { exit, out } = await runCli(temporaryDir(), "agents", "--json");
  const { agents } = JSON.parse(out) as { readonly agents: readonly { readonly name: string }[] };
  expect(exit).toBe(0);
  expect(agents.map(({ name }) => name)).toContain("travel");
});

test("names a file that cannot be loaded and opens no store", async () => {
  const dir = temporaryDir();
  writeFileSync(join(dir, "cairn.config.ts"), 'export const config = { agents: ["./half.ts"] };\n');
  writeFileSync(join(dir, "half.ts"), "export const half = ;\n");
  const { exit, err } = await runCli(dir, "agents");
  expect({ exit, err }).toEqual({ exit: 0, err: expect.stringContaining("half.ts") });
});
