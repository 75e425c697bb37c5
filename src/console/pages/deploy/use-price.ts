import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { DeploymentEvent } from "../../../protocol/api-types.ts";
import { type Price, readPrice } from "./price.ts";

export interface Priced {
  /** The last event of the dry run. */
  readonly event: DeploymentEvent;
  readonly price: Price | undefined;
}

interface PriceState {
  /** The price of exactly this request; `undefined` if it was not asked for, or the request has changed since. */
  readonly priced: Priced | undefined;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly ask: () => void;
}

/** The price of a request by a dry run on the device. @param request canonical text of the request */
export function usePrice(request: string, run: () => Promise<DeploymentEvent>): PriceState {
  const [answer, setAnswer] = useState<{ readonly request: string; readonly priced: Priced }>();
  const asking = useMutation({
    mutationFn: async (asked: string) => ({ asked, event: await run() }),
    onSuccess: ({ asked, event }) => {
      setAnswer({
        request: asked,
        priced: { event, price: event.status === "Success" ? readPrice(event) : undefined },
      });
    },
  });
  return {
    priced: answer?.request === request ? answer.priced : undefined,
    isPending: asking.isPending,
    error: asking.variables === request ? asking.error : null,
    ask: () => asking.mutate(request),
  };
}
