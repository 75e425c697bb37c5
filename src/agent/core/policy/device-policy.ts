/** What the device allows, whoever asks. Set by its owner in the device's configuration. */
export interface Policy {
  readonly privileged: boolean;
  readonly host_network: boolean;
  readonly mounts: {
    /** Path prefixes apps may mount; an empty list allows every path that is not denied. */
    readonly allow: readonly string[];
    /** Path prefixes apps may never mount, nor a directory that holds one of them. */
    readonly deny: readonly string[];
  };
  /** Where nothing is said of devices, apps may use them exactly if they may be privileged. */
  readonly devices?:
    | {
        /** Path prefixes of device files apps may use; an empty list allows every one that is not denied. */
        readonly allow: readonly string[];
        readonly deny: readonly string[];
      }
    | undefined;
  /** Largest image that is downloaded, in compressed bytes; left out for no bound. */
  readonly max_image_bytes?: number | undefined;
  readonly registries: {
    /** Registry hosts images may come from, as written in references; an empty list allows all. */
    readonly allow: readonly string[];
  };
}

/** A rule of the policy that a request breaks. */
export interface PolicyViolation {
  /** Name of the configuration key, such as `policy.mounts.deny`. */
  readonly rule: string;
  readonly message: string;
  /** Nothing is known to be wrong, but a path could not be examined: reason to start nothing, and to stop nothing. */
  readonly isUnresolved?: true | undefined;
}
