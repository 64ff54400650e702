/**
 * Counts how many beats of each agent are out, and says of which agents no other beat may begin. A capped agent shares
 * something scarce among its runs, such as a service that takes three requests at once.
 *
 * Only beats count. A park or a hand-over calls neither model nor tools, and a run that waited for a place to park could
 * not be woken meanwhile.
 */

/** The most beats of an agent at once, by the name of the agent. An agent without a number has no cap. */
export type Concurrency = Readonly<Record<string, number>>;

export interface AgentCaps {
  readonly isCapped: (agent: string) => boolean;
  /** The agents that have as many beats as they may. */
  readonly full: () => readonly string[];
  /** Takes a place for a beat of that agent. The returned function frees it. Null: the agent is full. */
  readonly take: (agent: string) => (() => void) | null;
}

/** The supervisor ends every process that another one left before it begins a beat, so no beat is out at first. */
export function createAgentCaps(concurrency: Concurrency): AgentCaps {
  const most = new Map(Object.entries(concurrency));
  const out = new Map<string, number>();
  const countOf = (agent: string): number => out.get(agent) ?? 0;
  return {
    isCapped: (agent) => most.has(agent),
    full: () => [...most].filter(([agent, max]) => countOf(agent) >= max).map(([agent]) => agent),
    take: (agent) => {
      if (countOf(agent) >= (most.get(agent) ?? Infinity)) return null;
      out.set(agent, countOf(agent) + 1);
      let isOut = true;
      return () => {
        if (isOut) out.set(agent, countOf(agent) - 1);
        isOut = false;
      };
    },
  };
}
