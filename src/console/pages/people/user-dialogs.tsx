import type { ReactNode } from "react";
import type { User } from "../../api/types.ts";
import { ChangeDialog } from "./change-dialog.tsx";
import { RemoveDialog } from "./remove-dialog.tsx";
import { ResetDialog } from "./reset-dialog.tsx";

/** What is being done with a person. */
export interface UserAction {
  readonly kind: "change" | "reset" | "remove";
  readonly user: User;
}

export interface UserDialogProps {
  readonly user: User;
  readonly onClose: () => void;
}

const DIALOGS: Readonly<Record<UserAction["kind"], (props: UserDialogProps) => ReactNode>> = {
  change: ChangeDialog,
  reset: ResetDialog,
  remove: RemoveDialog,
};

interface Props {
  readonly action: UserAction | undefined;
  readonly onClose: () => void;
}

export function UserDialogs({ action, onClose }: Props): ReactNode {
  if (!action) return null;
  const Open = DIALOGS[action.kind];
  return <Open key={`${action.kind} ${action.user.id}`} user={action.user} onClose={onClose} />;
}
