/**
 * The model of the agent: a script, so that everything works without a key. For a real model replace the export by one
 * such line:
 *
 *   export const model = "anthropic:MODEL"; // npm install @ai-sdk/anthropic
 *   export const model = "openai-compatible:https://HOST/v1#MODEL";
 */
import { scriptedModel } from "cairn-run";
import type { Order } from "./office.ts";

export const model = scriptedModel({
  name: "refunds-script",
  reply: ({ task, resultOf, calls }) => {
    const { order } = task.json as { readonly order: string };
    const read = resultOf("readOrder") as Order | undefined;
    if (read === undefined) return { text: "I read the order.", calls: [{ tool: "readOrder", args: { order } }] };
    const refunded = calls.find(({ tool }) => tool === "refund");
    const missing = read.items.filter(({ arrived }) => !arrived);
    const euros = missing.reduce((sum, item) => sum + item.euros, 0);
    if (refunded === undefined && euros > 0) return { calls: [{ tool: "refund", args: { order, euros } }] };
    if (calls.every(({ tool }) => tool !== "writeTo")) {
      const names = missing.map(({ name }) => name).join(" and ");
      const text =
        refunded?.outcome === "succeeded"
          ? `We refunded ${euros} euros for ${names}.`
          : "We looked at your order, and a colleague will call you.";
      return { calls: [{ tool: "writeTo", args: { order, text } }] };
    }
    return { text: refunded?.outcome === "succeeded" ? `${euros} euros are refunded.` : "Nothing was refunded." };
  },
});
