/** Tools of servers that a run does not offer to its model, so that nothing vanishes silently. */

/** `tool`: its name at the server. `why`: a sentence for humans. */
export interface LeftOutTool {
  readonly tool: string;
  readonly source: string;
  readonly why: string;
}

/** The bodies of these events. */
export interface LeftOutEvents {
  /** The tools that are left out from now on: the first 16, and how many there are. `digest`: of all of them. */
  ToolsLeftOut: { readonly tools: readonly LeftOutTool[]; readonly count: number; readonly digest: string };
}
