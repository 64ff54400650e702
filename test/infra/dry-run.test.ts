/** What `cairn infra --dry-run` lists, from the plan of a deployment. */
import { expect, test } from "vitest";
import { plannedDeployment } from "../../infra/dry-run.ts";
import { planOf } from "../../infra/plan.ts";
import { plain } from "../../src/render/paint.ts";
import { renderPlanned } from "../../src/render/planned-deployment.ts";

const HOOK = { url: "https://hooks.example.org/", events: ["run.failed"], secret: "HOOK_KEY" } as const;
const AGENTS = [
  { agent: "clerk", secrets: ["MAIL_KEY"] },
  { agent: "teller", secrets: ["BANK_KEY"] },
];
const DAILY = {
  ...{ agent: "clerk", expression: "cron(0 8 ? * MON-FRI *)", timezone: "Europe/Berlin", maximumEventAgeSec: 60 },
  event: { agent: "clerk", tenant: "local", scheduledTime: "" },
};
const plan = planOf(
  {
    ...{ beatSeconds: 90, concurrency: { teller: 3 }, webhooks: [HOOK], access: { auth: "token" } },
    deploy: { memoryMb: 1_024, sweepMinutes: 1, concurrencyReserved: { api: 5 } },
  },
  [],
  { agents: AGENTS, schedules: [DAILY] },
);
const bundles = [{ name: "beat", startBytes: 1_025, bytes: 4_096, files: ["index.mjs", "a.mjs"] }] as const;
const told = plannedDeployment(plan, { bundles, missing: [] });

test("each function has its memory, its time limit and its reservation", () => {
  const of = (name: string) => told.functions.find((each) => each.name === `PREFIX-${name}`);
  expect(of("beat")).toMatchObject({ memoryMb: 1_024, seconds: 90, reserved: null });
  expect(of("beat_teller")).toMatchObject({ memoryMb: 1_024, seconds: 90, reserved: 3 });
  expect(of("api")).toMatchObject({ memoryMb: 512, seconds: 29, reserved: 5 });
  expect(of("events")).toBeUndefined();
});

test("a bundle has its sizes, and what could not be bundled has none", () => {
  expect(told.functions.find(({ name }) => name === "PREFIX-beat")?.bundle).toEqual({
    ...{ startBytes: 1_025, bytes: 4_096, files: 2 },
  });
  expect(told.functions.find(({ name }) => name === "PREFIX-api")?.bundle).toBeNull();
});

test("the schedules of the sweeper and of agents are listed, and every secret that a function reads", () => {
  const schedules = told.resources.filter(({ kind }) => kind === "schedule");
  expect(schedules.map(({ name, says }) => ({ name, says }))).toEqual([
    { name: "Sweep", says: "rate(1 minute)" },
    { name: "Orphans", says: "rate(10 minutes)" },
    { name: "clerk", says: "cron(0 8 ? * MON-FRI *), Europe/Berlin" },
  ]);
  expect(told.secrets).toEqual(["BANK_KEY", "HOOK_KEY", "MAIL_KEY"]);
});

test("a table that exists already is named", () => {
  const restored = planOf({ deploy: { tableName: "from-backup" } }, []);
  const { resources } = plannedDeployment(restored, { bundles: [], missing: [] });
  expect(resources[0]).toEqual({ kind: "table", name: "from-backup", says: "exists already" });
});

test("what SST would refuse by the quotas of AWS is missing: variables and policies that are too long", () => {
  const secrets = Array.from({ length: 120 }, (_, index) => `A_SERVICE_TOKEN_${index}`);
  const wide = planOf({ deploy: { env: { LONG: "v".repeat(4_100) } } }, [], {
    ...{ agents: [{ agent: "clerk", secrets }], schedules: [] },
  });
  const { missing } = plannedDeployment(wide, { bundles: [], missing: [] });
  expect(missing).toContainEqual(
    expect.objectContaining({ what: expect.stringMatching(/^the variables of the function beat have/) }),
  );
  expect(missing).toContainEqual(
    expect.objectContaining({ what: expect.stringMatching(/^the policy of the function beat has/) }),
  );
});

test("the page shows sizes rounded up, and what is missing with what to type", () => {
  const style = { paint: plain, width: 200 };
  const page = renderPlanned(told, style);
  expect(page).toMatch(/^PREFIX-beat +1024 MB +90 s +2 KB +4 KB +2$/m);
  expect(page).toMatch(/^PREFIX-api +512 MB +29 s +5$/m);
  expect(page).toContain("secrets to set in the Parameter Store: BANK_KEY, HOOK_KEY, MAIL_KEY");
  expect(page).toMatch(/nothing is missing; npx sst deploy --stage dev makes it$/);
  const missing = [{ code: "PackageMissing", what: "SST is not installed", next: "npm install sst" }];
  expect(renderPlanned({ ...told, missing }, style)).toMatch(
    /✖ PackageMissing: SST is not installed\n {2}→ npm install sst\n1 thing missing$/,
  );
});
