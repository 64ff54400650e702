/** The checks of `doctor` for a server, which makes them at each look at its health. */
import { expect, test } from "vitest";
import { examinedNow } from "../../src/cli/commands/doctor.ts";
import type { Shell } from "../../src/cli/shell.ts";
import type { Settings } from "../../src/compose/settings.ts";
import { NO_SEAL_KEYS } from "../../src/ports/seal-keys.ts";
import { createHarness } from "../support/harness/harness.ts";

test("each look closes the store that it opened", async () => {
  const seen = { opened: 0, closed: 0 };
  const { world: opened } = createHarness();
  const world = {
    ...{ isThere: () => true, agents: { kind: "code" }, diagnose: async () => ({ checks: [], hints: [] }) },
    open: async () => {
      seen.opened += 1;
      return { world: opened, close: () => void (seen.closed += 1) };
    },
  };
  const provider = { name: "local", sealKeys: async () => NO_SEAL_KEYS };
  const of = { agentFiles: [], exampleFiles: [], prices: {}, webhooks: [], concurrency: {}, hasConfig: false };
  const settings = { ...of, world, provider } as unknown as Settings;
  for (let looks = 0; looks < 3; looks += 1) {
    const shell = { env: {}, cwd: "/" } as unknown as Shell;
    expect(await examinedNow(shell, { settings, version: "1" })).toMatchObject({ cairn: "1", world: "local" });
  }
  expect(seen).toEqual({ opened: 3, closed: 3 });
});
