/** How a deployment reads the schedules of its agents. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { schedulesOf } from "../../infra/schedules.ts";

const ROOT = join(import.meta.dirname, "..", "..");

const AGENT = (name: string, schedule: string) => `
  import { defineAgent, scriptedModel } from "${join(ROOT, "src", "index.ts")}";
  import { z } from "${join(ROOT, "node_modules", "zod", "index.js")}";
  export const ${name} = defineAgent({
    name: "${name}", version: "1", instructions: "", task: z.object({ to: z.string().optional() }), tools: {},
    model: scriptedModel({ name: "m", reply: () => ({ text: "" }) }), ${schedule}
  });`;

test("each schedule is static JSON except for its time, and a deployment reads it in a separate process", async () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-schedules-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = (name: string, schedule: string): string => {
    writeFileSync(join(dir, `${name}.ts`), AGENT(name, schedule));
    return join(dir, `${name}.ts`);
  };
  const agentFiles = [
    file("daily", 'schedule: { every: "cron(0 8 ? * MON-FRI *)", timezone: "Europe/Berlin", input: { to: "Lisbon" } }'),
    file("often", 'schedule: { every: "rate(5 minutes)", missed: "skip" }'),
    file("never", ""),
  ];
  const scheduledTime = "<aws.scheduler.scheduled-time>";
  expect(await schedulesOf({ agentFiles, tenant: "acme" })).toStrictEqual([
    {
      ...{
        agent: "daily",
        expression: "cron(0 8 ? * MON-FRI *)",
        timezone: "Europe/Berlin",
        maximumEventAgeSec: 86_400,
      },
      event: { agent: "daily", tenant: "acme", scheduledTime },
    },
    {
      ...{ agent: "often", expression: "rate(5 minutes)", timezone: "UTC", maximumEventAgeSec: 300 },
      event: { agent: "often", tenant: "acme", scheduledTime },
    },
  ]);
});
