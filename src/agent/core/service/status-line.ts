/** What the daemon is doing, for its status line. */
export interface DaemonActivity {
  readonly link: {
    readonly online: boolean;
    /** Serial number the control plane knows the device by; `undefined` before the first session. */
    readonly serialNumber: string | undefined;
    /** Why it is not online, if known. */
    readonly reason: string | undefined;
  };
  /** Number of apps installed. */
  readonly apps: number;
  readonly deployments: readonly { readonly app: string; readonly step: string; readonly progress: number | null }[];
}

/** Formats the status for the service manager: `Online as gw-7; 2 apps; web: pulling 40 %`. */
export function statusLine({ link, apps, deployments }: DaemonActivity): string {
  const count = apps === 0 ? "no apps" : apps === 1 ? "1 app" : `${apps} apps`;
  return [linkText(link), count, ...deployments.map(deploymentText)].join("; ");
}

function linkText({ online, serialNumber, reason }: DaemonActivity["link"]): string {
  if (online) return serialNumber === undefined ? "Online" : `Online as ${serialNumber}`;
  return reason === undefined ? "Connecting to the control plane" : `Offline, trying again (${reason})`;
}

function deploymentText({ app, step, progress }: DaemonActivity["deployments"][number]): string {
  return `${app || "(no name)"}: ${step}${progress === null ? "" : ` ${progress} %`}`;
}
