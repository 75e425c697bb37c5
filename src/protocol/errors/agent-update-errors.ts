/** The part of the error table for updates of the agent itself. `details.reason` is what the device's updater calls it. */
export const AGENT_UPDATE_ERRORS = {
  AgentReleaseNotFound: {
    message: "The service has no release of this version.",
    http: 404,
    retryable: false,
    hint: "Add it with `edge-control agent-release add`, or name the release's image in a registry.",
  },
  AgentUpdateUnsupported: {
    message: "The agent on this device does not update itself.",
    endsDeployment: true,
    retryable: false,
    hint: "An agent that runs as a container is updated by replacing its image; another one as it was installed.",
  },
  AgentUpdateKeysMissing: {
    message: "The device trusts no key, so it takes no release.",
    endsDeployment: true,
    retryable: false,
    hint: "Install a package of edge-agent that brings the public key with which the releases are signed.",
  },
  AgentReleaseUntrusted: {
    message: "No key that this device trusts has signed the release.",
    endsDeployment: true,
    retryable: false,
    hint: "Sign the release, and bring its signature to the registry too; details.reason says what is wrong with it.",
  },
  AgentReleaseInvalid: {
    message: "The image is no release that this device can run.",
    endsDeployment: true,
    retryable: false,
    hint: "details.reason says why: a part is missing, is not what was signed, or has what no release may have.",
  },
  AgentArchitectureMissing: {
    message: "The release has nothing for this device's architecture.",
    endsDeployment: true,
    retryable: false,
    hint: "Make a release that has it: `npm run package` does for amd64 and arm64. A device of another one is updated by its package.",
  },
  AgentVersionRefused: {
    message: "The device does not go from its version to this one.",
    endsDeployment: true,
    retryable: false,
    hint:
      "An older version needs `downgrade`, and agent_updates.downgrade in the device's configuration. Between versions that " +
      "cannot follow each other, install one in between first.",
  },
  AgentReleaseSetAside: {
    message: "The device has tried this version before, and it did not work.",
    endsDeployment: true,
    retryable: false,
    hint: "details say why. With `again` it is tried once more.",
  },
  AgentPinned: {
    message: "A person keeps this device on one version.",
    endsDeployment: true,
    retryable: false,
    hint: "details name the version. On the device: `sudo edge-agent pin none`.",
  },
  AgentUpdateInProgress: {
    message: "The device is being updated already.",
    endsDeployment: true,
    retryable: true,
    hint: "Wait for the end of the other update: details name it, or the version that is on trial.",
  },
  AgentUpdateFailed: {
    message: "The device could not keep the new version, and runs the one before.",
    endsDeployment: true,
    retryable: false,
    hint: "details have the reason and the last lines of the new version's log; more is in the device's journal.",
  },
} as const;
