/**
 * The model of the agent: a script, so that everything works without a key. For a real model replace the export by one
 * line:
 *
 *   export const model = "openai-compatible:https://HOST/v1#MODEL";
 */
import { type Conversation, type ScriptedReply, scriptedModel } from "cairn-run";
import type { Order } from "./shop.ts";

export const model = scriptedModel({ name: "support-script", reply });

function reply({ messages, calls }: Conversation): ScriptedReply {
  const said = messages.filter(({ role }) => role === "user").map(({ text }) => text);
  const order = said.flatMap((text) => text.match(/A-\d+/g) ?? []).at(-1);
  if (order === undefined) return { text: "Hello! Which order is it about? I know A-1 and A-2." };

  const about = calls.filter(({ args }) => (args as { readonly order?: string }).order === order);
  const read = about.find(({ tool }) => tool === "readOrder");
  if (read === undefined) return { text: `I look at order ${order}.`, calls: [{ tool: "readOrder", args: { order } }] };
  if (read.outcome !== "succeeded") return { text: `I cannot find the order ${order}. Is the number right?` };

  const refund = about.find(({ tool }) => tool === "refund");
  const missing = (read.result as unknown as Order).items.filter(({ arrived }) => !arrived);
  const names = missing.map(({ name }) => name).join(" and ");
  const euros = missing.reduce((sum, item) => sum + item.euros, 0);
  if (refund?.outcome === "succeeded") return { text: `${euros} euros for ${names} of order ${order} are refunded.` };
  if (refund !== undefined) return { text: `I may not refund ${names}. A colleague will write to you.` };
  if (euros === 0) return { text: `Everything of order ${order} has arrived. What else can I do?` };
  if (!/refund|money/i.test(said.at(-1) ?? ""))
    return { text: `Of order ${order}, ${names} did not arrive. Shall I refund the ${euros} euros?` };
  return { text: `I refund ${euros} euros for ${names}.`, calls: [{ tool: "refund", args: { order, euros } }] };
}
