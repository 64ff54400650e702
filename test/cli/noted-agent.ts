/** An agent whose file notes each process that imports it, in the file that `NOTED_IMPORTS` names. */
import { appendFileSync } from "node:fs";
import { z } from "zod";
import { defineAgent, scriptedModel } from "../../src/index.ts";

appendFileSync(process.env["NOTED_IMPORTS"] ?? "/dev/null", `${process.pid}\n`);

export const noted = defineAgent({
  ...{ name: "noted", version: "1", instructions: "Greet.", task: z.object({}), tools: {} },
  model: scriptedModel({ name: "noted-model", reply: () => ({ text: "Hello.", tokensIn: 1, tokensOut: 1 }) }),
});
