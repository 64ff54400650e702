/** How soon runs go on after the return of their host. It compares times, so only the nightly level plays it. */
import { expect, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { createProcessHarness } from "../../support/processes/supervisor-process.ts";
import * as host from "./host.ts";

const CALM = { CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000) };

test("each of four runs makes its next beat within a minute of the return of its killed host", async () => {
  const returned = await host.hostReturns(createProcessHarness(CALM));
  console.log(host.inWords(returned));
  assertNoViolations(returned.wrong);
  expect(Math.max(...returned.nextBeats.map(({ seconds }) => seconds))).toBeLessThan(host.RETURN_SECONDS_MAX);
});
