/** Events of runs whose agent chooses what varies, for tests. */
import type { EventOf } from "../../../src/core/event.ts";

const AT = 1_700_000_000_000;

const chose: EventOf<"RequestChosen"> = {
  ...{ kind: "RequestChosen", at: AT },
  choice: {
    instructions: { kind: "blob", sha256: "2".repeat(64), bytes: 900, head: "", tail: "" },
    offered: ["book"],
    model: "large",
    options: { toolChoice: "required" },
  },
};

const stopped: EventOf<"RequestChosen"> = { ...chose, choice: {}, stop: "2 steps are done" };

const leftOut: EventOf<"ToolsLeftOut"> = {
  kind: "ToolsLeftOut",
  at: AT,
  tools: [{ tool: "find.all", source: "MCP server desk", why: "its tool find_all has the name desk_find_all already" }],
  count: 1,
  digest: "0123456789abcdef",
};

export const CHOICE_EVENTS = { chose, stopped, leftOut };
