/**
 * The model of the agent: a script, so that everything works without a key. For a real model replace the export by one
 * such line:
 *
 *   export const model = "anthropic:MODEL"; // npm install @ai-sdk/anthropic
 *   export const model = "openai-compatible:https://HOST/v1#MODEL";
 */
import { scriptedModel } from "cairn-run";
import type { Ticket } from "./desk.ts";

export const model = scriptedModel({
  name: "digest-script",
  reply: ({ task, resultOf, calls }) => {
    const { team } = task.json as { readonly team: string };
    const tickets = resultOf("openTickets") as readonly Ticket[] | undefined;
    if (tickets === undefined) return { text: "I list the tickets.", calls: [{ tool: "openTickets", args: { team } }] };
    const waiting = tickets.filter(({ days }) => days > 2);
    const old = waiting.find(({ days }) => days > 7);
    if (old !== undefined && calls.every(({ tool }) => tool !== "reassign"))
      return { calls: [{ tool: "reassign", args: { ticket: old.ticket } }] };
    if (calls.every(({ tool }) => tool !== "post")) {
      const text = waiting.map(({ ticket, subject, days }) => `#${ticket} ${subject}: ${days} days`).join("\n");
      return { calls: [{ tool: "post", args: { team, text } }] };
    }
    return { text: `${waiting.length} tickets wait for more than two days.` };
  },
});
