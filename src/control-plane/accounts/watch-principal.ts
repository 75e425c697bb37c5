import type { Clock } from "../../lib/clock.ts";
import { type AccessWatcher, keySubject, type Subject, userSubject } from "./access-watcher.ts";
import type { Principal } from "./principal.ts";
import type { PrincipalReader } from "./principal-reader.ts";

/** Pause before a check that failed is repeated. Meanwhile the stream is like all others while the database is away. */
const RETRY_MS = 2_000;

interface Services {
  readonly access: AccessWatcher;
  readonly principals: PrincipalReader;
  readonly clock: Clock;
}

/** The subject under which the streams of a principal are watched. */
export function principalSubject({ kind, id }: Pick<Principal, "kind" | "id">): Subject {
  return kind === "key" ? keySubject(id) : userSubject(id);
}

/**
 * Calls `onEnd` once when the key or the session ends: it is revoked or removed, which is noticed within seconds whichever
 * process did it, or it expires. Stops when disposed. Checks once at the beginning: access may have ended after the principal
 * was read.
 *
 * @param onUnknown called if that cannot be found out at the beginning; by default it is tried again until it is known
 */
export function watchPrincipal(
  { access, principals, clock }: Services,
  principal: Principal,
  onEnd: () => void,
  onUnknown?: (error: unknown) => void,
): Disposable {
  let current: Principal | undefined = principal;
  let isOver = false;
  let timer: Disposable | undefined;
  let retry: Disposable | undefined;
  const end = (): void => {
    if (isOver) return;
    stop();
    onEnd();
  };
  const stop = (): void => {
    isOver = true;
    timer?.[Symbol.dispose]();
    retry?.[Symbol.dispose]();
    watching[Symbol.dispose]();
  };
  const isAllowed = async (): Promise<boolean> => {
    current = await principals.refresh(principal);
    if (current && !isOver) arm(current);
    return current !== undefined;
  };
  const arm = ({ expiresAt }: Principal): void => {
    timer?.[Symbol.dispose]();
    timer = expiresAt === undefined ? undefined : clock.timer(expiresAt * 1000 - clock.now(), onDeadline);
  };
  // A session that was used meanwhile lasts longer. If that cannot be read, it ends.
  const onDeadline = (): void => {
    isAllowed().then(
      (allowed) => allowed || end(),
      () => end(),
    );
  };
  const watching = access.watch(principalSubject(principal), isAllowed, end);
  arm(principal);
  const check = (): void => {
    isAllowed().then(
      (allowed) => allowed || end(),
      (error: unknown) => {
        if (isOver) return;
        if (onUnknown) onUnknown(error);
        else retry = clock.timer(RETRY_MS, check);
      },
    );
  };
  check();
  return { [Symbol.dispose]: stop };
}
