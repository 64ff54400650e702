/** How large things may be that are stored or sent: bytes, characters, and how many of them. Every bound has a name. */
export const SIZES = {
  tenantCharactersMax: 24,
  toolCharactersMax: 64,
  toolsMax: 128,
  /** An agent's own key of a call: printable ASCII without spaces, since it travels in headers. */
  businessKeyCharactersMax: 128,
  /** The state without its transcript's sealed segments (protocol: "the persistence boundary"). */
  stateBytesMax: 32 * 1024,
  /** Events since the last snapshot, compressed, in the row. More goes to the object store first. */
  journalBytesMax: 3 * 1024,
  /** A stretch of the transcript is sealed at this raw size ... */
  segmentBytes: 16 * 1024,
  /** ... and this many neighbours of one level are merged into one of the next. */
  segmentFanIn: 8,
  /** The commits of this many snapshots are sealed in one object, so that a long history is few reads. */
  snapshotsPerSeal: 64,
  /** A value above this is kept as a blob and shown by its head and tail (seed 3: "observations over 4k tokens"). */
  inlineBytesMax: 16 * 1024,
  previewCharacters: 1_000,
  /** What the state itself holds of a task or a result; more is a blob. */
  stateValueBytesMax: 4 * 1024,
  blobBytesMax: 8 * 1024 * 1024,
  messageBytesMax: 64 * 1024,
  /**
   * The body of a request and of an answer over HTTP. Lambda takes and gives 6 MB, in which a body is a JSON text: it
   * may come to twice its bytes there.
   */
  httpBodyBytesMax: 2_500 * 1024,
  /** How deep a value may be nested: codecs and schemas call themselves once for each of its levels. */
  jsonDepthMax: 100,
  /** What is wrong with one input, each with its place; more are not told. */
  issuesMax: 32,
  /** Who sent a message, and under which id: names of people and of messages, not of runs. */
  nameCharactersMax: 64,
  /** A reply above this is not taken; the model is told. */
  replyBytesMax: 1024 * 1024,
  /** Each takes room in the state while it is open. */
  callsPerReplyMax: 16,
  errorCharactersMax: 2_000,
  /** The reasons of all gates that are open at once. */
  reasonsCharactersMax: 2_000,
  /** Messages that one commit takes in; what is left is taken by the next ones. */
  absorbMax: 32,
  /** What one decision may add to a limit: a million dollars, in micro-dollars. */
  grantMax: 1_000_000_000_000,
  /** What a compaction leaves as it is of the newest messages, at most. */
  keptMessages: 12,
  /** Writes whose outcome is ambiguous are sent again at most this often. */
  rewritesMax: 4,
  /** What an archive holds of large values, uncompressed, and of how many: it must be put within one invocation. */
  archiveBlobBytesMax: 64 * 1024 * 1024,
  archiveBlobsMax: 1_000,
} as const;
