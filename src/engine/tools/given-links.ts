/** The links that results of a run gave, for a tool that reads nothing else. */
import * as z from "zod";
import type { ToolContext } from "../../ports/agent.ts";
import type { ActiveRun } from "../context/active-run.ts";

/** A result of a server with links. Text in a result that looks like a link is none. */
const linking = z.looseObject({ links: z.array(z.looseObject({ uri: z.string() })) });

export const wasGivenIn =
  (run: ActiveRun): NonNullable<ToolContext<unknown>["wasGiven"]> =>
  async ({ uri, tools }) => {
    const parts = run.state.messages.flatMap((message) => message.parts);
    for (const part of parts) {
      if (part.kind !== "result" || part.outcome !== "succeeded" || !tools.includes(part.tool)) continue;
      const read = linking.safeParse(await run.json(part.value));
      if (read.success && read.data.links.some((link) => link.uri === uri)) return true;
    }
    return false;
  };
