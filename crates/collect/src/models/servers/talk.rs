//! The conversation with one server: what to ask next, and what it has answered.

use std::collections::BTreeMap;

use model::{EndpointState, EndpointStatus, Gap, Server, ServerState, Stamp};
use raw::{Endpoint, HttpReply, Machine, ProcessRef, Question, Reply, Script, Synthetic};

use super::super::claim::Claim;
use super::super::reach::{Forwarders, Reach, Target};
use super::fields::Fields;
use super::spec::{Asking, Plan, Spec, Subject, Wish, Word};
use crate::processes::{Poll, Watched};

/// Time between two questions to one port. When a server is met, what it can be asked is asked one after the other,
/// each endpoint once, so that a single report is complete.
const BETWEEN_NS: u64 = 5_000_000_000;

/// A server that says no is not asked again for so long.
const REFUSED_MS: u64 = 300_000;

/// A server that did not answer, or answered with an error of its own.
const FAILED_MS: u64 = 15_000;

/// A server that is loading.
const LOADING_MS: u64 = 5_000;

/// How long the word of a server that it is awake is taken for the present.
const JUST_NOW_NS: u64 = 1_000_000_000;

/// What the plan wants asked right before this endpoint.
fn before(plan: &Plan, endpoint: Endpoint) -> Option<Endpoint> {
    plan.iter().find_map(|(of, wish)| match wish {
        Wish::After(first, _) if *of == endpoint => Some(*first),
        _ => None,
    })
}

/// One endpoint over time.
#[derive(Debug, Default)]
struct Line {
    poll: Poll,
    /// The good answer before the newest, for differences.
    before: Option<(Stamp, HttpReply)>,
    asked_ns: Option<u64>,
}

impl Line {
    /// Asks. Whether the answer is there.
    fn ask(&mut self, machine: &mut dyn Machine, question: Question, now: Stamp) -> bool {
        let old = match self.poll.answer() {
            Ok((at, Reply::Http(reply))) => Some((at, reply.clone())),
            _ => None,
        };
        self.poll.ask(machine, || question, now, 0);
        let answered = self.poll.was_answered(now);
        if answered {
            self.before = old.filter(|(_, reply)| is_good(reply));
        }
        answered
    }

    fn state(&self) -> Option<EndpointState> {
        match self.poll.answer() {
            Err(Gap::Pending) => None,
            Err(gap) => Some(EndpointState::Failed(gap)),
            Ok((_, Reply::Http(reply))) => {
                Some(EndpointState::of_answer(reply.status, is_good(reply)))
            }
            Ok(_) => Some(EndpointState::Failed(Gap::Malformed)),
        }
    }

    /// When it may be asked again, on the monotonic clock.
    fn due_ns(&self, every_ms: u64) -> u64 {
        let Some(asked_ns) = self.asked_ns else {
            return 0;
        };
        let after_ms = match self.state() {
            None | Some(EndpointState::Ok | EndpointState::NotAsked) => every_ms,
            Some(EndpointState::Loading) => LOADING_MS,
            // Of a server's own errors some pass.
            Some(EndpointState::Failed(_) | EndpointState::Unexpected(500..)) => FAILED_MS,
            Some(
                EndpointState::NotThere
                | EndpointState::Disabled
                | EndpointState::KeyRequired
                | EndpointState::Unexpected(_),
            ) => REFUSED_MS,
        };
        asked_ns.saturating_add(after_ms.saturating_mul(1_000_000))
    }
}

fn is_good(reply: &HttpReply) -> bool {
    reply.status == 200 && !reply.fields.is_empty()
}

/// What a server has answered so far.
pub(super) struct Answers<'a> {
    lines: &'a BTreeMap<Endpoint, Line>,
    /// Whether it has ever said that it sleeps.
    pub(super) has_slept: bool,
}

impl<'a> Answers<'a> {
    /// The newest answer, where it is one.
    pub(super) fn ok(&self, endpoint: Endpoint) -> Option<Fields<'a>> {
        match self.lines.get(&endpoint)?.poll.answer() {
            Ok((at, Reply::Http(reply))) if is_good(reply) => Some(Fields { reply, at }),
            _ => None,
        }
    }

    /// The good answer before that.
    pub(super) fn before(&self, endpoint: Endpoint) -> Option<Fields<'a>> {
        let (at, reply) = self.lines.get(&endpoint)?.before.as_ref()?;
        Some(Fields { reply, at: *at })
    }

    /// How asking went; `None` before the first answer.
    pub(super) fn state(&self, endpoint: Endpoint) -> Option<EndpointState> {
        self.lines.get(&endpoint)?.state()
    }
}

/// Whose server answers with a body that came without one.
pub(super) const NOBODY: ProcessRef = ProcessRef {
    pid: 1,
    start_ticks: 1,
};

/// Gives the same reply in every second.
struct Same {
    reply: HttpReply,
    second: u64,
}

impl Script for Same {
    fn now(&self) -> Stamp {
        Stamp {
            mono_ns: self.second * 1_000_000_000,
            wall_us: 0,
        }
    }

    fn post(&mut self, _: &Question) -> Result<Reply, Gap> {
        Ok(Reply::Http(self.reply.clone()))
    }
}

/// A server over time.
#[derive(Default)]
pub(super) struct Talk {
    kind: Option<&'static str>,
    reach: Reach,
    target: Option<Target>,
    unreached: Option<Gap>,
    lines: BTreeMap<Endpoint, Line>,
    has_slept: bool,
    /// Whether everything has been asked once.
    introduced: bool,
    asked_ns: Option<u64>,
    /// What is to be asked as soon as that has answered which has to be asked before it.
    following: Option<Endpoint>,
    /// The refresh in which it was its turn: several processes may want to know.
    turn_ns: Option<u64>,
}

impl Talk {
    /// A conversation in which every question was answered with the same body, twice.
    pub(super) fn of_body(body: &[u8]) -> Self {
        let mut talk = Self {
            target: Some(Target {
                who: NOBODY,
                port: 1,
                behind: None,
            }),
            ..Self::default()
        };
        for endpoint in Endpoint::ALL {
            let question = Question::Http {
                who: NOBODY,
                port: 1,
                endpoint: *endpoint,
            };
            let mut machine = Synthetic::new(Same {
                reply: HttpReply {
                    status: 200,
                    fields: endpoint.kept(body),
                },
                second: 1,
            });
            let line = talk.lines.entry(*endpoint).or_default();
            for second in 1..=2 {
                machine.second = second;
                let now = machine.now();
                line.ask(&mut machine, question.clone(), now);
            }
        }
        talk
    }

    /// Whether an answer is outstanding.
    pub(super) fn is_waiting(&self) -> bool {
        self.reach.is_waiting() || self.lines.values().any(|line| line.poll.is_waiting())
    }

    /// Takes answers and asks what is due, at most once in a refresh.
    pub(super) fn turn(
        &mut self,
        machine: &mut dyn Machine,
        (spec, subject): (&Spec, &Subject<'_>),
        who: ProcessRef,
        watched: &Watched,
        forwarders: &mut Forwarders,
        now: Stamp,
    ) {
        if self.turn_ns.replace(now.mono_ns) == Some(now.mono_ns) {
            return;
        }
        if self.kind.replace(spec.kind) != Some(spec.kind) {
            self.begin_anew();
        }
        let found = self.reach.target(machine, who, watched, forwarders, now);
        let target = match found {
            // Looked for again while the old answer still stands.
            Err(Gap::Pending) => self.target,
            found => found.ok(),
        };
        self.unreached = found.err();
        if self.target != target {
            self.target = target;
            self.begin_anew();
        }
        let Some(Target { who, port, .. }) = target else {
            return;
        };
        let question = |endpoint| Question::Http {
            who,
            port,
            endpoint,
        };
        for (endpoint, line) in &mut self.lines {
            if line.poll.is_waiting() {
                line.ask(machine, question(*endpoint), now);
            }
        }
        // One question at a time: what is asked next may depend on the answer.
        while !self.lines.values().any(|line| line.poll.is_waiting()) {
            self.remember();
            let plan = self.plan(spec, subject);
            let Some(endpoint) = self.next(&plan, now) else {
                return;
            };
            self.asked_ns = Some(now.mono_ns);
            let line = self.lines.entry(endpoint).or_default();
            line.asked_ns = Some(now.mono_ns);
            line.poll.again();
            if !line.ask(machine, question(endpoint), now) {
                return;
            }
        }
    }

    fn begin_anew(&mut self) {
        self.following = None;
        self.lines.clear();
        self.has_slept = false;
        self.introduced = false;
    }

    fn remember(&mut self) {
        let props = self.answers().ok(Endpoint::LlamaProps);
        self.has_slept |= props.is_some_and(|props| props.flag("is_sleeping") == Some(true));
    }

    const fn answers(&self) -> Answers<'_> {
        Answers {
            lines: &self.lines,
            has_slept: self.has_slept,
        }
    }

    fn plan(&self, spec: &Spec, subject: &Subject<'_>) -> Plan {
        (spec.plan)(&self.answers(), subject)
    }

    /// What to ask now, if anything.
    fn next(&mut self, plan: &Plan, now: Stamp) -> Option<Endpoint> {
        // What was asked first has been answered: either it is asked now, or later and from the beginning.
        if let Some(endpoint) = self.following.take()
            && before(plan, endpoint).is_some_and(|first| self.was_answered_just_now(first, now))
        {
            return Some(endpoint);
        }
        let endpoint = self.due(plan, now)?;
        match before(plan, endpoint) {
            Some(first) if !self.was_answered_just_now(first, now) => {
                self.following = Some(endpoint);
                Some(first)
            }
            _ => Some(endpoint),
        }
    }

    /// Whether its newest answer is good and so new that what it says still holds.
    fn was_answered_just_now(&self, endpoint: Endpoint, now: Stamp) -> bool {
        let answer = self.answers().ok(endpoint);
        answer.is_some_and(|it| now.mono_ns < it.at.mono_ns.saturating_add(JUST_NOW_NS))
    }

    /// What it is time to ask.
    fn due(&mut self, plan: &Plan, now: Stamp) -> Option<Endpoint> {
        let wanted = plan.iter().filter_map(|(endpoint, wish)| match wish {
            Wish::Ask(every_ms) | Wish::After(_, every_ms) => Some((*endpoint, *every_ms)),
            Wish::Not(_) => None,
        });
        let line = |endpoint| self.lines.get(&endpoint);
        let mut due: Vec<(u64, Endpoint)> = wanted
            .map(|(endpoint, every_ms)| {
                (line(endpoint).map_or(0, |it| it.due_ns(every_ms)), endpoint)
            })
            .filter(|(due_ns, _)| *due_ns <= now.mono_ns)
            .collect();
        // Stable: what was never asked comes in the order of the plan.
        due.sort_by_key(|(due_ns, _)| *due_ns);
        let new = due.first().copied().filter(|(due_ns, _)| *due_ns == 0);
        if !self.introduced {
            self.introduced = new.is_none();
            return new.map(|(_, endpoint)| endpoint);
        }
        let is_soon = |at: u64| now.mono_ns < at.saturating_add(BETWEEN_NS);
        if self.asked_ns.is_some_and(is_soon) {
            return None;
        }
        due.first().map(|(_, endpoint)| *endpoint)
    }

    /// What is known of the server now. `Err` where there is none, with the reason where it was not asked.
    pub(super) fn heard(
        &self,
        (spec, subject): (&Spec, &Subject<'_>),
        asking: &Asking<'_>,
        now: Stamp,
    ) -> Result<(Server, Vec<Claim>), Option<Gap>> {
        let Some(target) = self.target else {
            // A server without a port is none (yet), whatever its command line says.
            let unasked = |gap: &Gap| !matches!(gap, Gap::NotFound | Gap::Pending);
            return Err(self.unreached.filter(unasked));
        };
        let answers = self.answers();
        let states: Vec<EndpointState> = spec
            .first
            .iter()
            .filter_map(|endpoint| answers.state(*endpoint))
            .collect();
        // With a directory in place of the machine there is nobody to ask.
        if states.contains(&EndpointState::Failed(Gap::NotApplicable)) {
            return Err(None);
        }
        let is_ok = states.contains(&EndpointState::Ok);
        let refused = |state: &&EndpointState| {
            matches!(state, EndpointState::NotThere | EndpointState::Disabled)
        };
        let telling = states.iter().find(|state| !refused(state));
        let (state, gap) = match telling.or(states.first()) {
            None => return Err(None),
            _ if is_ok => (ServerState::Ready, Gap::NotFound),
            Some(EndpointState::KeyRequired) => (ServerState::KeyRequired, Gap::NotFound),
            Some(EndpointState::Loading) => (ServerState::Loading, Gap::NotFound),
            Some(EndpointState::Failed(gap)) => (ServerState::Unreachable, *gap),
            Some(EndpointState::NotThere | EndpointState::Disabled) => {
                (ServerState::NotRecognised, Gap::NotPresent)
            }
            Some(EndpointState::Unexpected(500..)) => {
                (ServerState::NotRecognised, Gap::ServerError)
            }
            Some(_) => (ServerState::NotRecognised, Gap::Malformed),
        };
        let newest = spec.first.iter().filter_map(|it| answers.ok(*it));
        let at = newest.map(|fields| fields.at).max().unwrap_or(now);
        let mut server = Server {
            own_port: target.behind,
            endpoints: self.statuses(&(spec.plan)(&answers, subject)),
            ..Server::new(spec.kind, target.port, state, gap, at)
        };
        let mut claims = Vec::new();
        if is_ok {
            let mut word = Word {
                server: &mut server,
                claims: &mut claims,
            };
            (spec.read)(&answers, asking, &mut word);
        }
        Ok((server, claims))
    }

    fn statuses(&self, plan: &Plan) -> Vec<EndpointStatus> {
        let state = |endpoint: Endpoint, wish: Wish| match wish {
            Wish::Not(state) => Some(state),
            Wish::Ask(_) | Wish::After(..) => self.answers().state(endpoint),
        };
        plan.iter()
            .filter_map(|(endpoint, wish)| {
                Some(EndpointStatus {
                    path: endpoint.path().into(),
                    state: state(*endpoint, *wish)?,
                })
            })
            .collect()
    }
}
