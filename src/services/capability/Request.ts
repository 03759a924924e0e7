// What a directive asks for. It grants nothing by itself: what a thread gets is the request as far as its caller's own
// grants reach.
import type { Grant, GrantSet } from "./Grant.ts"
import { exceeding, intersect } from "./Grant.ts"

export interface RequestedGrant extends Grant {
  /** It is cut to what the caller has, where any other request is refused. */
  readonly optional?: true
}

export interface Request {
  readonly allow: ReadonlyArray<RequestedGrant>
  readonly deny: ReadonlyArray<Grant>
}

export interface Attenuated {
  readonly granted: GrantSet
  /** What was asked for beyond the parent's grants. If there is any, nothing is granted. */
  readonly exceeding: ReadonlyArray<Grant>
}

const plain = ({ optional: _optional, ...grant }: RequestedGrant): Grant => grant

/** The grants of a child: its request within its parent's grants, under the parent's denials and its own. */
export const attenuate = (parent: GrantSet, request: Request): Attenuated => {
  const tooMuch = exceeding(request, parent).filter(({ optional }) => optional !== true).map(plain)
  return {
    granted: tooMuch.length > 0
      ? { allow: [], deny: [] }
      : intersect(parent, { allow: request.allow.map(plain), deny: request.deny }),
    exceeding: tooMuch
  }
}
