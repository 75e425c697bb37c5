/** What the package of the system has brought. */
export const PACKAGE_FOLDER = "/usr/lib/edge-agent";
/** Starts the version that this device runs. */
export const LAUNCHER = "/usr/bin/edge-agent";
/** The lock of the releases, and what root has decided since the device was switched on. */
export const UPDATES_RUNTIME_FOLDER = "/run/edge-agent-updates";
/** Further versions beside it, and what is known about them. Only root writes there. */
export const RELEASES_FOLDER = "/var/lib/edge-agent-releases";
/** Folder in the agent's state directory with a request to the updater, and the release it is about. */
export const HANDOVER = "agent-update";
export const REQUEST_FILE = "request.json";
/** The OCI layout in the folder. */
export const LAYOUT = "layout";
/** File with the answer to the last request, in the folder of releases. */
export const ANSWER_FILE = "answer.json";
/** Public keys of those who may sign what follows a version, in its folder. */
export const KEYS = "release-keys";
/** Describes the version of a folder with a program: `{"version": …, "floor": …}`. */
export const DESCRIPTION = "release.json";
/** Says of what layers the version of a folder consists. */
export const LAYERS_FILE = "layers.json";
/** Folder with the last lines that versions on trial have logged, by version. Root and the agent's group read it. */
export const TRIAL_LOG = "log";
