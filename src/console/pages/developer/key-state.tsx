import type { ReactNode } from "react";
import type { ApiKey } from "../../api/types.ts";
import { State } from "../../parts/state.tsx";
import { useNow } from "../../parts/use-now.ts";

export function KeyState({ apiKey }: { readonly apiKey: ApiKey }): ReactNode {
  const now = useNow();
  if (apiKey.revoked_at !== null)
    return (
      <State kind="plain" icon="cross">
        revoked
      </State>
    );
  if (apiKey.expires_at !== null && apiKey.expires_at * 1000 <= now)
    return (
      <State kind="warn" icon="clock">
        expired
      </State>
    );
  return (
    <State kind="good" icon="check">
      valid
    </State>
  );
}
