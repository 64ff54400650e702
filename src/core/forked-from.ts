/** Where a fork comes from, as its state keeps it. */
export interface ForkedFrom {
  readonly run: string;
  readonly born: string;
  readonly version: number;
  /** The calls that were proposed before it. The fork counts its own after them. */
  readonly calls: number;
}
