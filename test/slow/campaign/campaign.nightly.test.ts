/** Some minutes of a campaign, with the seed of the night. `npm run campaign` is the same for longer. */
import { expect, test } from "vitest";
import { seedFor } from "../../support/gate/draws.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { createProcessHarness } from "../../support/processes/supervisor-process.ts";
import { CAMPAIGN_ENV, campaign } from "./campaign.ts";
import { FAULTS } from "./faults.ts";

const MINUTES = 4;
/** The time in which the runs of a campaign end after its last fault is a limit of its own. */
const SCENE = { timeout: 20 * 60_000 };

test("a campaign of kills, freezes and readers doubles nothing, loses nothing, and blames nobody", SCENE, async () => {
  const seed = seedFor("campaign");
  const found = await campaign(createProcessHarness(CAMPAIGN_ENV), {
    ...{ seed, forMs: MINUTES * 60_000, runs: 20, faults: FAULTS },
  });
  const { doubled, lost, stuck, falseDeaths } = found;
  assertSafety(`seed ${seed}`, () => expect({ doubled, lost }).toEqual({ doubled: [], lost: [] }));
  expect({ stuck, falseDeaths }).toEqual({ stuck: [], falseDeaths: [] });
});
