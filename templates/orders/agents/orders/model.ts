/** A model without a network, so that the project runs as it is. One line makes it a real one: see below. */
import { scriptedModel } from "cairn-run";

// export const model = "anthropic:MODEL"; // npm install @ai-sdk/anthropic
// export const model = "openai-compatible:https://HOST/v1#MODEL";
export const model = scriptedModel({
  name: "orders-script",
  reply: ({ task, calls, resultOf }) => {
    const { order } = task.json as { readonly order: string };
    const failed = calls.find(({ outcome }) => outcome !== "succeeded");
    if (failed !== undefined) return { text: `Order ${order} was not sent: ${failed.tool} failed.` };
    const next = ["reserve", "takePayment", "sendParcel"].find((tool) => resultOf(tool) === undefined);
    return next === undefined
      ? { text: `Order ${order} is on its way.` }
      : { calls: [{ tool: next, args: { order } }] };
  },
});
