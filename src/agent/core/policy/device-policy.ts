/** What the device's owner allows apps to do, set in the device's configuration. Applies to every request. */
export interface Policy {
  readonly privileged: boolean;
  readonly host_network: boolean;
  /** Whether apps may have the device's processes; not set for no. */
  readonly host_pid?: boolean | undefined;
  /** Whether apps may have the device's shared memory; not set for no. */
  readonly host_ipc?: boolean | undefined;
  readonly mounts: {
    /** Path prefixes apps may mount; an empty list allows every path that is not denied. */
    readonly allow: readonly string[];
    /** Path prefixes apps may never mount, including directories that contain one. */
    readonly deny: readonly string[];
    /** Whether directories that contain protected paths may be mounted; not set for no. */
    readonly allow_containing_protected?: boolean | undefined;
  };
  /** If not set, apps may use device files only if `privileged` is true. */
  readonly devices?:
    | {
        /** Path prefixes of device files apps may use; an empty list allows every one that is not denied. */
        readonly allow: readonly string[];
        readonly deny: readonly string[];
      }
    | undefined;
  /** Rules for device files by number that apps may have; `allow` is not set for all if `privileged` is true and `devices` is not set. */
  readonly device_cgroup_rules?: { readonly allow?: readonly string[] | undefined } | undefined;
  readonly capabilities?:
    | {
        /** Capabilities apps may get beside the engine's usual ones; not set for none. */
        readonly allow: readonly string[];
      }
    | undefined;
  /** Limits apps may set; `allow` is not set for the usual ones. */
  readonly ulimits?: { readonly allow?: readonly string[] | undefined } | undefined;
  /** Prefixes of kernel parameters apps may set; `allow` is not set for all of the app's own namespaces. */
  readonly sysctls?: { readonly allow?: readonly string[] | undefined } | undefined;
  /** Security options apps may have beside `no-new-privileges`; not set for none. */
  readonly security_opt?: { readonly allow: readonly string[] } | undefined;
  /** Volumes of the engine that apps may have by their own names, or the beginning of these and `*`; not set for none. */
  readonly external_volumes?: { readonly allow: readonly string[] } | undefined;
  /** Networks of the engine that apps may be on, named in the same way; not set for none. */
  readonly external_networks?: { readonly allow: readonly string[] } | undefined;
  /** Maximum bytes of the files of one request, unpacked; not set for the default. */
  readonly max_files_bytes?: number | undefined;
  /** Maximum bytes of the log files of one app; not set for the default. */
  readonly max_log_bytes?: number | undefined;
  /** If not set, apps may use GPUs if `privileged` is true and `devices` is not set. */
  readonly gpus?: boolean | undefined;
  /** Maximum compressed size of an image to download, in bytes; not set for no limit. */
  readonly max_image_bytes?: number | undefined;
  readonly registries: {
    /** Registry hosts images may come from, as written in references; an empty list allows all. */
    readonly allow: readonly string[];
  };
}

/** A rule of the policy that a request violates. */
export interface PolicyViolation {
  /** Name of the configuration key, such as `policy.mounts.deny`. */
  readonly rule: string;
  readonly message: string;
  /** A path could not be examined: the app is not started, but a running one is not stopped. */
  readonly isUnresolved?: true | undefined;
}
