/** Where devices find a release of the agent: in a repository that the service serves by the registry's protocol. */
export interface ServedRelease {
  /** Path of the repository below `/v2/` of the service's own address, such as `edge-agent`. */
  readonly repository: string;
  /** Digest of the release's index: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** The releases of the agent that the service serves. */
export interface AgentReleases {
  /** Resolves to where devices find the release of a version; `undefined` if the service has none. */
  releaseOf(version: string): Promise<ServedRelease | undefined>;
}
