/** A store that refuses to open while the rest of the command is still loading: the command reports it, and no more. */
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { transportTo } from "../../src/cli/choose-transport.ts";
import { createShell } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

test("a store that refuses before its transport has loaded is an error of the command, and no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", onUnhandled);
  onTestFinished(() => void process.off("unhandledRejection", onUnhandled));
  const loading = Promise.withResolvers<undefined>();
  vi.doMock("../../src/cli/store-transport.ts", async (original) => {
    await loading.promise;
    return original<object>();
  });
  onTestFinished(() => {
    vi.doUnmock("../../src/cli/store-transport.ts");
  });
  const dir = join(temporaryDir(), "missing");
  const { shell } = createShell({ dir, person: null }, ["list"]);
  const refused = transportTo(shell, { store: dir }).catch((error: unknown) => error);
  // Node reports an unhandled rejection when the microtasks are done.
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  loading.resolve(undefined);
  expect(await refused).toMatchObject({ trouble: { code: "StoreMissing" } });
  expect(unhandled).toEqual([]);
});
