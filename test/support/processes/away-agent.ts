/** The file of an agent whose model cannot be reached until the file `back` is in the store. */
export const AWAY = `
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineAgent, scriptedModel } from "cairn-run";
import { z } from "zod";

export const away = defineAgent({
  name: "away",
  version: "1",
  model: scriptedModel({
    name: "away-model",
    reply: () => {
      if (existsSync(join(process.env.CAIRN_STORE ?? ".", "back"))) return { text: "here" };
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    },
  }),
  outageMax: "1s",
  instructions: "",
  task: z.object({}),
  tools: {},
});
`;
