/*
 * Kinds of errors, as far as they decide what the agent does next. The error classes beside the engine, the registry
 * client and the downloader carry one of these.
 */

/** An error of the container engine. */
export type EngineErrorKind =
  /** Nothing listens on the socket, it may not be opened, or the connection broke. */
  | "unavailable"
  /** The engine accepted the call and did not answer in time. */
  | "timeout"
  | "image_not_found"
  /** The registry refuses the image to these credentials. */
  | "image_denied"
  /** The image has no variant for this machine. */
  | "wrong_platform"
  /** The registry did not answer, broke the connection or answered with a server error; can be retried. */
  | "registry_unreachable"
  /** The registry's certificate is not trusted, or it does not use TLS where the engine requires it. */
  | "registry_untrusted"
  /** What the registry sent does not match its digest; can be retried. */
  | "wrong_content"
  /** The engine kept wrong bytes of a layer from an earlier pull and resumes after them. */
  | "corrupt_layer"
  | "no_space"
  | "port_in_use"
  /** A path of the device that the container is to mount does not exist. */
  | "mount_missing"
  /** A network that the container is to join does not exist, or is not the one it was created on. */
  | "network_missing"
  /** The engine's rules in the device's firewall are gone: it makes them anew when it starts. */
  | "rules_lost"
  /** The bridge of a network is gone from the device: the engine makes it anew when it starts. */
  | "bridge_lost"
  /** No range of addresses is left for a network, or the one that was asked for is in use. */
  | "no_addresses"
  /** The name is taken, or the object is in a state that does not allow the call. */
  | "conflict"
  /** The container is between two runs of a crash loop, in which the engine cannot do this: once it is stopped, it can. */
  | "between_runs"
  | "not_found"
  /** The engine cannot remove a container, or has been removing it for long. */
  | "not_removable"
  /** The engine rejects the request itself: a retry fails too. */
  | "invalid"
  | "unknown";

/** An error of a registry. */
export type RegistryErrorKind =
  | "image_not_found"
  /** The registry refuses the image to these credentials, or requires some. */
  | "image_denied"
  /** The image has no variant for this machine. */
  | "wrong_platform"
  /** No answer, a broken connection or a server error; can be retried. */
  | "registry_unreachable"
  /** The registry asks for fewer requests; can be retried after `retryAfterMs`. */
  | "rate_limited"
  /** Something in between answered: a portal, a proxy, an error page; can be retried. */
  | "foreign_answer"
  /** The certificate is not trusted, or the registry does not use TLS where it is required. */
  | "registry_untrusted"
  /** The registry refers to a target that is not allowed: a local address, one without TLS, or a host that must not get its credentials. */
  | "refused_target"
  /** The content does not match its digest. */
  | "wrong_content"
  /** The registry's answer is not understood by this client; an engine may understand it. */
  | "unsupported";

/** An error of a download by the agent. */
export type DownloadErrorKind =
  /** The disk of the download directory is full. */
  | "no_space"
  /** The content did not match its digest at any try. */
  | "wrong_content"
  /** No byte arrived within the configured time. */
  | "no_progress"
  /** The download directory cannot be read or written. */
  | "disk_failed";
