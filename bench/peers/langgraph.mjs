/** LangGraph with its SQLite checkpointer: one node per beat, and a checkpoint after each of them (`durability: sync`). */
import { join } from "node:path";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const State = Annotation.Root({
  turn: Annotation(),
  messages: Annotation({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

export async function open(dir, steps) {
  const saver = SqliteSaver.fromConnString(join(dir, "langgraph.sqlite"));
  const graph = new StateGraph(State)
    .addNode("beat", ({ turn }) => ({
      turn: turn + 1,
      messages: [
        { role: "assistant", text: steps.model(turn) },
        { role: "tool", text: steps.tool(turn) },
      ],
    }))
    .addEdge(START, "beat")
    .addConditionalEdges("beat", ({ turn }) => (turn < steps.beats ? "beat" : END))
    .compile({ checkpointer: saver });
  const one = (run) =>
    graph.invoke(
      { turn: 0, messages: [] },
      { configurable: { thread_id: String(run) }, recursionLimit: steps.beats + 2, durability: "sync" },
    );
  return { run: () => Promise.all(Array.from({ length: steps.runs }, (_, run) => one(run))) };
}
