/** A server under load, for a few seconds. `npm run load` is the same for longer. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";

const LOAD = join(import.meta.dirname, "..", "..", "..", "bench", "load.ts");

const SCENE = { timeout: 2 * LIMITS.sceneMs };

test(
  "a server with readers and requests loses no event, leaves no request without an answer, and makes no call twice",
  SCENE,
  () => {
    const words = ["--runs", "12", "--readers", "10", "--rate", "10", "--beats", "4", "--reply-ms", "200"];
    const { status, stdout, stderr } = spawnSync(process.execPath, [LOAD, ...words], {
      encoding: "utf8",
      timeout: LIMITS.sceneMs,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining("local-") });
    expect(stdout).toContain("10 readers, of which 2 were cut off and came back");
    expect(stdout).toContain("Lost, doubled or unanswered: 0.");
  },
);
