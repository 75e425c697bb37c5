import type { AppReport } from "../../../protocol/apps/app-report.ts";

type Apps = ReadonlyMap<string, AppReport>;

/** Trouble within this time after the last one is the same: an app that crashes in a loop runs in between. */
const SAME_TROUBLE_MS = 600_000;

/** Finds the first trouble of an app, whose report must not wait for others. */
export class TroubleDetector {
  /** The apps' last trouble: when it was seen, and after which deployment. */
  readonly #last = new Map<string, { readonly atMs: number; readonly deployment: string | undefined }>();

  /**
   * Returns whether an app is newly in trouble: it is not as it should be, the last report does not say so, and it was in
   * order for ten minutes before or was deployed since. To be called with every state that is read.
   *
   * @param reported the apps in the last report
   * @param current the apps now
   * @param nowMs monotonic milliseconds
   */
  observe(reported: Apps | undefined, current: Apps, nowMs: number): boolean {
    let isNew = false;
    for (const app of current.values()) {
      if (!isInTrouble(app)) continue;
      isNew ||= this.#isFirst(app, nowMs) && !isInTrouble(reported?.get(app.name));
      this.#last.set(app.name, { atMs: nowMs, deployment: deploymentOf(app) });
    }
    for (const name of this.#last.keys()) if (!current.has(name)) this.#last.delete(name);
    return isNew;
  }

  #isFirst(app: AppReport, nowMs: number): boolean {
    const last = this.#last.get(app.name);
    return !last || nowMs - last.atMs >= SAME_TROUBLE_MS || last.deployment !== deploymentOf(app);
  }
}

function isInTrouble(app: AppReport | undefined): boolean {
  return app?.desired_state === "running" && app.state !== "running";
}

function deploymentOf({ last_deployment: last }: AppReport): string | undefined {
  return last?.deployment_id;
}
