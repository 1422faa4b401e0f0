// Generated: `python -m ops.client`.

export interface paths {
    "/apps/{appId}/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List conversations
         * @description List an app's conversations, newest first.
         */
        get: operations["listConversations"];
        put?: never;
        /**
         * Open a conversation
         * @description Open a conversation; without an id it is given one.
         */
        post: operations["startConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/conversations/{conversationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a conversation
         * @description Show where a conversation stands, what it has cost and what it gave rise to.
         */
        get: operations["showConversation"];
        put?: never;
        post?: never;
        /**
         * Erase one
         * @description Erase a conversation and everything derived from it.
         */
        delete: operations["eraseConversation"];
        options?: never;
        head?: never;
        /**
         * Change a conversation
         * @description Change an open conversation's time zone, or what it has to do with memory, which holds for all that was said.
         */
        patch: operations["changeConversation"];
        trace?: never;
    };
    "/apps/{appId}/conversations/{conversationId}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List messages
         * @description List a conversation's messages in order: after a cursor, before a position, or around one of them.
         */
        get: operations["listMessages"];
        put?: never;
        /**
         * Add messages
         * @description Add one message, or several in order. A messageId that is already there is not added again.
         */
        post: operations["addMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/conversations/{conversationId}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a conversation
         * @description End a conversation and ask for its memory; it never waits for one. Ending it again answers the same jobs.
         */
        post: operations["endConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/conversations/{conversationId}/extract": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Extract facts now
         * @description Ask for the facts of what was said since they were last extracted; while a job is under way, answer that one.
         */
        post: operations["extractFacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/conversations/{conversationId}/snooze": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Snooze a conversation
         * @description Hide an open conversation for a number of minutes.
         */
        post: operations["snoozeConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search old messages
         * @description Find messages, and passages of long ones, by their words and their meaning; never any of another app.
         *
         *     Where neither a user nor a conversation is named, all of the app's are searched, and each result says whose it is.
         */
        post: operations["searchMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compose a context
         * @description Compose the messages to send to a model: what was said, and what is recalled beside it, as fits.
         *
         *     Costs no energy but for the vector of what is said now.
         */
        post: operations["composeContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/energy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what an app has spent
         * @description Show what an app has spent in all and lately, and its budgets.
         */
        get: operations["showAppEnergy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/data": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Erase everything of an app
         * @description Erase everything an app ever held, in every store. The app itself stays, empty.
         */
        delete: operations["eraseAppData"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export an app
         * @description Take an app out as one JSON document, or what it holds of one user.
         *
         *     By a user's own token without the app's config and budgets.
         */
        get: operations["exportApp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import an app
         * @description Put an exported document into an app, whole or not at all. An admin token may name an app that is not there.
         */
        post: operations["importApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List memories
         * @description List the memories of an app, or of one of its users, last updated first. Costs no energy.
         */
        get: operations["listMemories"];
        put?: never;
        /**
         * Write a memory by hand
         * @description Write a memory by hand. At the cap the least important that is not pinned goes for it; the answer says which.
         */
        post: operations["writeMemory"];
        /**
         * Purge all memories
         * @description Remove all memories of an app, or of one user, with the text of their history, and stop memory work that was
         *     asked for before. The answer says what else still remembers, and how to erase it.
         */
        delete: operations["purgeMemories"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/memories/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened to an app's memories
         * @description List every change to the memories of an app, or of one user, newest first: which went, why, and by whom.
         */
        get: operations["listMemoryChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/memories/{memoryId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a memory
         * @description Show one memory.
         */
        get: operations["showMemory"];
        put?: never;
        post?: never;
        /**
         * Delete a memory
         * @description Delete a memory. Its history can bring it back, unless it is erased.
         */
        delete: operations["deleteMemory"];
        options?: never;
        head?: never;
        /**
         * Change a memory
         * @description Change a memory by hand; what it was stays in its history.
         */
        patch: operations["editMemory"];
        trace?: never;
    };
    "/apps/{appId}/memories/{memoryId}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a memory's history
         * @description Show everything that happened to a memory, oldest first, whether it still stands or not.
         */
        get: operations["showMemoryHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/memories/{memoryId}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take back a change
         * @description Take back the latest change of a memory, or the one named; one that was removed gets a place again.
         */
        post: operations["restoreMemory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List apps
         * @description List apps by id, the uninstalled ones too.
         */
        get: operations["listApps"];
        put?: never;
        /**
         * Install an app
         * @description Install an app; one that was uninstalled comes back with what it remembered.
         */
        post: operations["installApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an app
         * @description Show an app and how much it holds; by a user's own token how much of theirs, without config and budgets.
         */
        get: operations["showApp"];
        put?: never;
        post?: never;
        /**
         * Uninstall an app
         * @description Uninstall an app and revoke its tokens. What it remembers stays unless a purge is asked for.
         *
         *     An app's token needs the grant `uninstall`.
         */
        delete: operations["uninstallApp"];
        options?: never;
        head?: never;
        /**
         * Change an app
         * @description Change an app's name, config and who answers, or (with an admin token) its energy budgets and weight.
         */
        patch: operations["changeApp"];
        trace?: never;
    };
    "/apps/{appId}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List an app's tokens
         * @description List an app's tokens, the revoked ones too, without the tokens themselves.
         */
        get: operations["listTokens"];
        put?: never;
        /**
         * Issue a token
         * @description Make a token that opens this app alone, or what one of its users has in it. It is shown this once.
         *
         *     An app's token needs the grant `tokens` for it, grants only what it was granted itself, and takes along what it
         *     issued when it is revoked.
         */
        post: operations["issueToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/tokens/{tokenId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description Make a token, and all it issued, useless from now on. But for itself, an app's token needs the grant `tokens`.
         */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/erasures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List an app's erasure receipts
         * @description List what was purged and erased, newest first.
         */
        get: operations["listErasureReceipts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/answers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List answers
         * @description List what the loop answered or would answer in an app, newest first.
         */
        get: operations["listAnswers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/answers/{answerId}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve an answer
         * @description Send an answer that waits, as it is or in other words. Approving it again changes nothing.
         */
        post: operations["approveAnswer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/answers/{answerId}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject an answer
         * @description Refuse an answer that waits; the loop thinks again, and after three rejections leaves the message alone.
         */
        post: operations["rejectAnswer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/compactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count compactions by day
         * @description Count how often room was made for a memory, day by day (UTC) and by what went. Costs no energy.
         */
        get: operations["listCompactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/eviction": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show which facts would go
         * @description Show which facts would go if more came, with their scores, and which expire next. Nothing is changed.
         */
        get: operations["showFactEviction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List facts
         * @description List facts: pinned ones first, then by category, confidence and how lately they were said. Costs no energy.
         */
        get: operations["listFacts"];
        put?: never;
        /**
         * Write a fact by hand
         * @description Write a fact by hand. One that says the same already is said again instead, and answered with 200.
         */
        post: operations["writeFact"];
        /**
         * Clear all facts
         * @description Delete all facts, or all of one user's. For some seconds that can be taken back; then they are erased.
         *
         *     A receipt says so.
         */
        delete: operations["clearFacts"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take back clearing all facts
         * @description Bring back everything the last clear of the app's facts, or of that user's, deleted, as it was.
         */
        post: operations["undoClearingFacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change many facts
         * @description Delete, move, pin or unpin many facts, all or none.
         */
        post: operations["changeFacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened to an app's facts
         * @description List every change to facts, newest first: which went, why, and by whom.
         */
        get: operations["listFactChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/{factId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a fact
         * @description Show one fact, whether it stands, was replaced, or was deleted a moment ago.
         */
        get: operations["showFact"];
        put?: never;
        post?: never;
        /**
         * Delete a fact
         * @description Delete a fact. For a while that can be taken back; then it is gone with the text of its history.
         */
        delete: operations["deleteFact"];
        options?: never;
        head?: never;
        /**
         * Change a fact
         * @description Change a fact by hand; what it was stays in its history.
         */
        patch: operations["editFact"];
        trace?: never;
    };
    "/apps/{appId}/facts/{factId}/pin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pin a fact
         * @description Exempt a fact from eviction and expiry; at most ten of a user are.
         */
        post: operations["pinFact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/{factId}/unpin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unpin a fact
         * @description Let a fact be evicted and expire again.
         */
        post: operations["unpinFact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/{factId}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take back a deletion
         * @description Bring back a fact that was deleted a moment ago.
         */
        post: operations["undoDeletingFact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/facts/{factId}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a fact's history
         * @description Show everything that happened to a fact, oldest first, whether it still stands or not.
         */
        get: operations["showFactHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List users
         * @description List everybody an app holds something of, with how much.
         */
        get: operations["listUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a user
         * @description Show how much an app holds of a user; of one of whom it holds nothing there is nothing to show.
         */
        get: operations["showUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change what is set for a user
         * @description Set a user's time zone, or take it back with null. They need not have said anything yet.
         */
        patch: operations["changeUser"];
        trace?: never;
    };
    "/apps/{appId}/users/{userId}/data": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Erase everything of a user
         * @description Erase everything an app ever held of one user, in every store, and stop what is being thought about them.
         */
        delete: operations["eraseUserData"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how retrievals went
         * @description Add up the retrievals of the last hours: how often they found something, how long they took, from where.
         */
        get: operations["showRetrievalMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/debug/retrieval": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Take a retrieval apart
         * @description Search as a context would, and say of each result where it came from and how its score came about.
         */
        get: operations["debugRetrieval"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/debug/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how much there is to retrieve
         * @description Count what there is of one app, or of all. Looks at each row.
         */
        get: operations["showRetrievalStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make the word index anew
         * @description Make the word index of the whole installation anew; until an app is filled in, its old words are not found.
         */
        post: operations["rebuildWordIndex"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/indexes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how complete an app's indexes are
         * @description Show how many of an app's messages are in its indexes, and how far what is under way has come.
         */
        get: operations["showIndexes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/indexes/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Index an app's old messages
         * @description Bring messages into the indexes that are not there yet; again while it is under way: the same job.
         */
        post: operations["backfillIndexes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/conversations/{conversationId}/summaries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List summaries
         * @description List a conversation's summaries, newest first. Costs no energy.
         */
        get: operations["listSummaries"];
        put?: never;
        /**
         * Summarise now
         * @description Ask for a summary of what was said since the last; while one is under way, answer its job.
         */
        post: operations["makeSummary"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/consent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a consent
         * @description Show whether a user agrees to having a profile.
         */
        get: operations["showConsent"];
        /**
         * Give or take back a consent
         * @description Say whether a user agrees to having a profile. Taking consent back erases the profile at once.
         */
        put: operations["changeConsent"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a profile
         * @description Show a user's profile; without their consent there is none.
         */
        get: operations["showProfile"];
        /**
         * Write a profile
         * @description Write a user's profile in the place of what it said. Without their consent that is refused.
         */
        put: operations["writeProfile"];
        post?: never;
        /**
         * Erase a profile
         * @description Erase a user's profile; their consent stays as it is.
         */
        delete: operations["eraseProfile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/profile/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what became of profiles
         * @description List who agreed, wrote, used, was refused and erased, newest first.
         */
        get: operations["listProfileChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search all sessions of an app
         * @description Find sessions and versions by what they say, the files they touched, topics, dates and marked parts.
         */
        post: operations["searchSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search a project's sessions
         * @description Find sessions and versions of a project, and those linked to it.
         */
        post: operations["searchProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/suggest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suggest sessions for the work at hand
         * @description Say which sessions would help, in which form, within a token budget. Nothing is made.
         */
        post: operations["suggestSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's links
         * @description List the sessions of other projects that this one may use, the oldest link first.
         */
        get: operations["listLinks"];
        put?: never;
        /**
         * Link a session
         * @description Let this project use a session of another project of the same app.
         */
        post: operations["makeLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/links/{linkId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take a link away
         * @description Take a link away; refused while a composition of the project uses the session.
         */
        delete: operations["removeLink"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/session-settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the settings of an app's sessions
         * @description Show what is in force for all of an app's projects, unless they say otherwise.
         */
        get: operations["showSessionSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the settings of an app's sessions
         * @description Change what holds for all of an app's projects, at once; versions that are there stay as they are.
         */
        patch: operations["changeSessionSettings"];
        trace?: never;
    };
    "/apps/{appId}/session-settings/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show who changed the settings of an app's sessions
         * @description List who changed what holds for all of an app's projects, newest first: what was set before and after.
         */
        get: operations["listSessionSettingsChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/semantic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List semantic memories
         * @description List what was learnt from a project's sessions, newest first, with where it was found.
         */
        get: operations["listSemanticMemories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/semantic/learn": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Learn from sessions
         * @description Ask for what a project's sessions teach; while a job is at it, answer that one.
         */
        post: operations["learnFromProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/semantic/{semanticId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a semantic memory
         * @description Show one semantic memory with where it was found.
         */
        get: operations["showSemanticMemory"];
        put?: never;
        post?: never;
        /**
         * Remove a semantic memory
         * @description Remove a memory; found again, it is proposed again, unlike a rejected one.
         */
        delete: operations["removeSemanticMemory"];
        options?: never;
        head?: never;
        /**
         * Judge a semantic memory
         * @description Confirm or reject a memory, or put it in other words. A rejected one is not proposed again.
         */
        patch: operations["judgeSemanticMemory"];
        trace?: never;
    };
    "/api/memory/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the retrieval settings of all apps
         * @description Show what is in force for apps that have nothing of their own.
         */
        get: operations["showTuning"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the retrieval settings of all apps
         * @description Change how retrieval works for all apps, at once and without a restart. Numbers out of bounds are clamped.
         */
        patch: operations["tuneAll"];
        trace?: never;
    };
    "/apps/{appId}/retrieval-settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an app's retrieval settings
         * @description Show what is in force for an app, and where each value comes from.
         */
        get: operations["showAppTuning"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change an app's retrieval settings
         * @description Change how retrieval works for an app, at once and without a restart. Numbers out of bounds are clamped.
         */
        patch: operations["tuneApp"];
        trace?: never;
    };
    "/api/memory/projects/{projectId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a project
         * @description Pack a project with its sessions, versions, compositions and history into one file.
         */
        get: operations["exportProject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import a project
         * @description Take in what export packed, sent as the body: checked whole first, and never over what is there.
         */
        post: operations["importProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List projects
         * @description List an app's projects, newest first.
         */
        get: operations["listProjects"];
        put?: never;
        /**
         * Open a project
         * @description Open a project for a folder; registering a session of one that is not there opens it as well.
         */
        post: operations["openProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a project
         * @description Show a project with its sessions, what it takes in the store, and files that could not be taken in.
         */
        get: operations["showProject"];
        put?: never;
        post?: never;
        /**
         * Remove a project
         * @description Remove a project that is empty. Originals outside of the store are never touched.
         */
        delete: operations["removeProject"];
        options?: never;
        head?: never;
        /**
         * Change a project
         * @description Change a project's name, settings or folder.
         */
        patch: operations["changeProject"];
        trace?: never;
    };
    "/api/memory/projects/{projectId}/scan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look through a project's folder
         * @description Register what is new in a project's folder and sync what is known, some files at a time.
         *
         *     With `dryRun` only say which files would be registered, and what is in them.
         */
        post: operations["scanProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what was done to a project
         * @description List who did what to a project and what belongs to it, newest first; also of one that was removed.
         */
        get: operations["listProjectChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's sessions
         * @description List the sessions of a project, those registered last first, or those that went on last.
         */
        get: operations["listProjectSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions
         * @description List an app's sessions, those registered last first.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a session
         * @description Show a session, with the files it touched most.
         */
        get: operations["showSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a session
         * @description Register a session: its transcript as the body, or as JSON the path of a file, which only an admin may give.
         *
         *     The file is copied and never written. A project that is not there is opened. With `dryRun` only say what the
         *     transcript holds.
         */
        post: operations["registerSession"];
        /**
         * Unregister a session
         * @description Take a session out of the registry, with its versions; refused while a composition uses it.
         */
        delete: operations["unregisterSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take in what was added to a session
         * @description Take in what was added to a session's original, or to the whole transcript that is sent as the body.
         */
        post: operations["syncSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unregister several sessions
         * @description Take several sessions out of the registry and say of each what became of it.
         */
        post: operations["deleteSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}/keepits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List marked parts
         * @description List a session's marked parts in their order, and what is wrong with those that are not well written.
         */
        get: operations["listKeepits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}/keepits/{markerId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Weigh a marked part
         * @description Put another weight in the place of the one that is written, or take it back. No file is changed.
         *
         *     Versions that are there stay as they are; those made from now on go by it.
         */
        put: operations["weighKeepit"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/decay/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview decay
         * @description Say which marked parts of a session a compression would keep word for word.
         */
        post: operations["previewDecay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a session's original
         * @description Read what was said in a session, at most 200,000 characters at once. To begin to read it counts as a use.
         */
        get: operations["readOriginal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow an app's events
         * @description Stream what happens in an app. Resume with `Last-Event-ID` or `after`; without either it begins now.
         *
         *     Each event has its position as `id`, its kind as `event`, and as `data` a JSON object with position, kind, appId,
         *     conversationId, subject, details, at and, for kinds about a text, content. An event `gap` says what was lost to age.
         */
        get: operations["followApp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow everything
         * @description Stream what happens in every app, and the energy as it changes. Needs the admin token.
         */
        get: operations["followAll"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Wait for an app's events
         * @description List an app's events after a position; when there are none, wait for one. Without `after`: from now on.
         */
        get: operations["pollEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks
         * @description List an app's webhooks, the disabled ones too, and how the last delivery to each of them went.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Add a webhook
         * @description Have an address told of an app's events. The secret that signs what is sent is shown this once.
         */
        post: operations["addWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/{appId}/webhooks/{webhookId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a webhook
         * @description Show a webhook and how the last delivery to it went.
         */
        get: operations["showWebhook"];
        put?: never;
        post?: never;
        /**
         * Remove a webhook
         * @description Remove a webhook with its secret; what was to be sent there is not.
         */
        delete: operations["removeWebhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * @description Change what a webhook is told and where, disable it, or enable it again.
         */
        patch: operations["changeWebhook"];
        trace?: never;
    };
    "/apps/{appId}/webhooks/{webhookId}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a webhook
         * @description Send an event of kind webhook.test now; the job says how it went.
         */
        post: operations["tryWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs
         * @description List jobs, newest first. An app's token must name its own app.
         */
        get: operations["listJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/{jobId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a job
         * @description Show one job, and the calls it made.
         */
        get: operations["showJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay dead letters
         * @description Run dead letters again with fresh attempts, by app, by kind, by reason, or all, oldest first, 100 at a time.
         */
        post: operations["replayJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/{jobId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay a job
         * @description Run a dead or cancelled job again, with fresh attempts.
         */
        post: operations["replayJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/{jobId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description Stop a job that has not finished; one that is being worked on can write nothing any more.
         */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/compositions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List compositions
         * @description List a project's compositions, newest first, those under way and those that failed included.
         */
        get: operations["listCompositions"];
        put?: never;
        /**
         * Compose a context
         * @description Ask for a context made of several sessions within a token budget; versions it lacks are made first.
         */
        post: operations["makeComposition"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/compositions/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Foresee a composition
         * @description Say what each session would get, as which version, and what would have to be compressed. Nothing is written.
         */
        post: operations["previewComposition"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/compositions/{compositionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a composition
         * @description Show what a composition is made of, or hand out what it says.
         */
        get: operations["showComposition"];
        put?: never;
        post?: never;
        /**
         * Remove a composition
         * @description Remove a composition with its documents, and stop its job; its sessions and versions stay.
         */
        delete: operations["removeComposition"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/compositions/{compositionId}/used": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say who used it
         * @description Say that a session began with a composition; a session is noted once.
         */
        post: operations["useComposition"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/compositions/{compositionId}/again": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compose again
         * @description Ask for the same over what there is now, under a new name or in this one's place.
         */
        post: operations["composeAgain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List versions
         * @description List the versions of a session that are whole, newest first, and the one that is being made.
         */
        get: operations["listVersions"];
        put?: never;
        /**
         * Compress a session
         * @description Ask for a version of a session, or with `dryRun` only for what would come of it.
         */
        post: operations["makeVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}/versions/{versionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a version
         * @description Read what a version says: as Markdown, or as a transcript that tools can go on with; these count as a use.
         */
        get: operations["readVersion"];
        put?: never;
        post?: never;
        /**
         * Remove a version
         * @description Remove a version that nothing uses, with its files; the session and its other versions stay.
         */
        delete: operations["removeVersion"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs about sessions
         * @description List an app's compressions, compositions and the like, newest first, each with how far it has come.
         */
        get: operations["listSessionJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/jobs/{jobId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a job about sessions
         * @description Show how far a compression or a composition has come.
         */
        get: operations["showSessionJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/sessions/{sessionId}/versions/{versionId}/comparison": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare two versions
         * @description Say what a version has that another lacks, by kind and count, and which texts differ, page by page.
         */
        get: operations["compareVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Prune versions
         * @description Remove versions nobody needs, or say which would go; what a composition uses is never removed.
         */
        post: operations["pruneVersions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/ageing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how versions age
         * @description Show the rules of a project, and what the last run did or would have done.
         */
        get: operations["showAgeing"];
        /**
         * Change how versions age
         * @description Change the rules. The first run after that only shows what it would do; the next one does it.
         */
        put: operations["changeAgeing"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/projects/{projectId}/ageing/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Age versions now
         * @description Follow the rules now: write the plan down, or carry it out; versions to be made are asked for as jobs.
         */
        post: operations["runAgeing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what your token opens
         * @description Show what the token of this request opens.
         */
        get: operations["showToken"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in
         * @description Make a login: a secret that is sent like the token of this request, and opens the same for as long as that does.
         *
         *     It is for a browser, which need not keep the token itself. It ends after a week, or when it is ended. A login makes
         *     no other one, and a token has at most its newest fifty.
         */
        post: operations["makeLogin"];
        /**
         * Log out
         * @description End the login that this request was sent with.
         */
        delete: operations["endLogin"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/energy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the energy
         * @description Show the energy level and what it holds back.
         */
        get: operations["showEnergy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/energy/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the energy of the last hours
         * @description Show by hours (UTC) how low the level went and what was spent, by kind and app. Needs the admin token.
         *
         *     Costs no energy.
         */
        get: operations["showEnergyHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what the tables take
         * @description Show rows and bytes by table, and how far back each reaches. Needs the admin token; on SQLite it reads it all.
         */
        get: operations["showStorage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look at the installation
         * @description Look at the service's machine, its settings, stores and models, as `afterthought doctor` does.
         *
         *     Needs the admin token; asks the model's server and Redis, and takes up to some seconds.
         */
        get: operations["showFindings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the process answers
         * @description Answer. Asks nothing of anything; needs no token.
         */
        get: operations["showLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the loop can serve
         * @description Look at each dependency. Needs no token.
         */
        get: operations["showReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics for Prometheus
         * @description Add up what all processes counted, and read the present state. Needs the admin token, or that for metrics.
         *
         *     Totals are up to a minute old, or more where counting them takes seconds; `afterthought_totals_age_seconds` says.
         */
        get: operations["showMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description One message, as OpenAI's or Anthropic's chat programs have it. The same messageId twice is one message. */
        AddMessage: {
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "developer" | "tool" | "function";
            /** @description Text, parts (text, image_url, tool_use, tool_result and others), or null beside tool_calls. */
            content?: string | {
                [key: string]: unknown;
            }[] | null;
            name?: string | null;
            /** @description The calls an assistant makes. */
            tool_calls?: {
                [key: string]: unknown;
            }[] | null;
            /** @description Of the call this is the result of. */
            tool_call_id?: string | null;
            /** @description What tool_calls replaced. */
            function_call?: {
                [key: string]: unknown;
            } | null;
            refusal?: string | null;
            audio?: {
                [key: string]: unknown;
            } | null;
            annotations?: {
                [key: string]: unknown;
            }[] | null;
            reasoning?: unknown;
            reasoning_content?: unknown;
            reasoning_details?: unknown;
            thinking?: unknown;
            thinking_blocks?: unknown;
            images?: unknown[] | null;
            parsed?: unknown;
            tool_name?: string | null;
            cache_control?: unknown;
            provider_specific_fields?: unknown;
            messageId?: string | null;
            /** @description When it was said. Its offset is kept and tells what day it was; UTC's (Z) tells nothing of that. */
            createdAt?: string | null;
            /** @description Its length as your model's provider counted it. */
            tokens?: number | null;
        };
        /** @description Several messages, in order. */
        AddMessages: {
            messages: components["schemas"]["AddMessage"][];
        };
        /** @description Adds a webhook. */
        AddWebhook: {
            url: string;
            /** @description Kinds of events; empty means all. */
            kinds?: components["schemas"]["EventKind"][];
            secret?: string | null;
        };
        /** @description A new webhook; its secret is shown this once. */
        AddedWebhook: {
            webhookId: string;
            appId: string;
            url: string;
            kinds: string[];
            enabled: boolean;
            disabledAt: string | null;
            disabledWhy: string | null;
            /** Format: date-time */
            createdAt: string;
            /** @description When something was last sent there. */
            triedAt: string | null;
            /** @description How that went. */
            outcome: components["schemas"]["DeliveryOutcome"] | null;
            /** @description The HTTP status it answered, if it answered. */
            status: number | null;
            /** @description Attempts that failed since it last took something. */
            failures: number;
            /** @description When the first of them was; after a day (AFTERTHOUGHT_WEBHOOK_DISABLE_HOURS) it is disabled. */
            failingSince: string | null;
            /** @description When it is tried again; what is to be sent there waits till then. */
            retryAt: string | null;
            /** @description Signs what is sent; null when this answer is a repetition. */
            secret: string | null;
        };
        /** @description How a project's versions age. */
        AgeingAnswer: {
            projectId: string;
            /** @description What is in force. */
            retention: components["schemas"]["Retention"];
            /** @description What is in force. */
            autoDecay: components["schemas"]["AutoDecay"];
            /** @description `compressionRetention` and `autoDecay` as the project says them itself; else the app's hold. */
            ownRules: {
                [key: string]: unknown;
            };
            /** @description Whether what these rules would do was shown; the next run then carries it out. */
            shown: boolean;
            /** @description When the rules were last followed or tried. */
            lastRun: string | null;
            /** @description The last run that had anything to say. */
            lastPlan: components["schemas"]["PlanAnswer"] | null;
        };
        /** @description A run. */
        AgeingDone: {
            projectId: string;
            dryRun: boolean;
            plan: {
                [key: string]: unknown;
            };
        };
        /**
         * @description How often versions are aged.
         * @enum {string}
         */
        AgeingSchedule: "daily" | "weekly" | "on-access";
        /**
         * @description How readily marked parts are given up.
         * @enum {string}
         */
        Aggressiveness: "minimal" | "moderate" | "aggressive";
        /**
         * @description How a budget is shared.
         * @enum {string}
         */
        AllocationStrategy: "equal" | "proportional" | "recent-first" | "custom";
        /** @description An answer the loop thought out. */
        AnswerAnswer: {
            answerId: string;
            appId: string;
            conversationId: string;
            state: components["schemas"]["AnswerState"];
            /** @description While it waits for approval; later its text stands in the message alone. */
            content: string | null;
            /** @description Position of the message it answers. */
            answersPosition: number;
            model: string;
            /** @description The message it became. */
            messageId: string | null;
            /** @description Why it was rejected. */
            reason: string | null;
            /** Format: date-time */
            createdAt: string;
            decidedAt: string | null;
            decidedBy: string | null;
        };
        /** @description Answers, newest first. */
        AnswerList: {
            answers: components["schemas"]["AnswerAnswer"][];
            cursor: string | null;
        };
        /**
         * @description Where an answer of the loop's stands.
         * @enum {string}
         */
        AnswerState: "pending" | "sent" | "rejected" | "superseded";
        /**
         * @description Who answers an app's conversations.
         * @enum {string}
         */
        AnsweredBy: "loop" | "app";
        /** @description An app. */
        AppAnswer: {
            appId: string;
            name: string;
            /** @description The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does. */
            config: {
                [key: string]: unknown;
            };
            installed: boolean;
            /** @description Who answers its conversations: the loop, when a model is set, or the app itself. */
            answeredBy: components["schemas"]["AnsweredBy"];
            /** @description Whether a person approves each answer of the loop's before it is sent. */
            approveAnswers: boolean;
            /** @description The app's share of the work beside other apps'. */
            weight: number;
            /** @description Whether what names no user (memories, facts, old messages) is recalled for every user of the app. */
            sharedMemory: boolean;
            /** @description Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's. */
            timeZone: string | null;
            /** @description Units an app may spend in any 60 minutes. */
            hourlyBudget: number | null;
            /** @description Units an app may spend in any 24 hours. */
            dailyBudget: number | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            uninstalledAt: string | null;
        };
        /** @description An app and how much it holds. */
        AppDetails: {
            appId: string;
            name: string;
            /** @description The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does. */
            config: {
                [key: string]: unknown;
            };
            installed: boolean;
            /** @description Who answers its conversations: the loop, when a model is set, or the app itself. */
            answeredBy: components["schemas"]["AnsweredBy"];
            /** @description Whether a person approves each answer of the loop's before it is sent. */
            approveAnswers: boolean;
            /** @description The app's share of the work beside other apps'. */
            weight: number;
            /** @description Whether what names no user (memories, facts, old messages) is recalled for every user of the app. */
            sharedMemory: boolean;
            /** @description Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's. */
            timeZone: string | null;
            /** @description Units an app may spend in any 60 minutes. */
            hourlyBudget: number | null;
            /** @description Units an app may spend in any 24 hours. */
            dailyBudget: number | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            uninstalledAt: string | null;
            memories: number;
            openConversations: number;
            endedConversations: number;
            /** @description Whether the loop answers its conversations now: it is to, and there is a model that thinks. */
            loopAnswers: boolean;
        };
        /** @description What an app has spent. */
        AppEnergy: {
            appId: string;
            total: number;
            last24h: number;
            last1h: number;
            last1min: number;
            byKind: {
                [key: string]: number;
            };
            hourlyBudget: number | null;
            hourlyStatus: components["schemas"]["BudgetStatus"] | null;
            dailyBudget: number | null;
            dailyStatus: components["schemas"]["BudgetStatus"] | null;
            /** @description Until when a budget holds the app's work back; null: it does not. */
            heldUntil: string | null;
        };
        /** @description How much an app holds, and what of it waits for a person. */
        AppHoldings: {
            /** @description Those that are named. */
            users: number;
            conversations: number;
            memories: number;
            /** @description Answers of the loop's that a person is to approve. */
            pendingAnswers: number;
            /** @description When something happened last in one of its conversations. */
            lastActiveAt: string | null;
        };
        /** @description Apps by id. */
        AppList: {
            apps: components["schemas"]["ListedApp"][];
            cursor: string | null;
        };
        /** @description Sends an answer, in other words where ``content`` is given. */
        ApproveAnswer: {
            content?: string | null;
        };
        /** @description Everything of an app but its tokens, jobs and spending. */
        Archive: {
            /**
             * @default afterthought.app
             * @constant
             */
            format?: "afterthought.app";
            /**
             * @default 1
             * @constant
             */
            version?: 1;
            /** Format: date-time */
            exportedAt: string;
            app: components["schemas"]["ArchivedApp"];
            users?: components["schemas"]["ArchivedUser"][];
            conversations?: components["schemas"]["ArchivedConversation"][];
            origins?: components["schemas"]["ArchivedOrigin"][];
            memories?: components["schemas"]["ArchivedMemory"][];
            history?: components["schemas"]["ArchivedChange"][];
            facts?: components["schemas"]["ArchivedFact"][];
            factHistory?: components["schemas"]["ArchivedFactChange"][];
            profiles?: components["schemas"]["ArchivedProfile"][];
        };
        /** @description The app itself. Budgets are in micro-units. */
        ArchivedApp: {
            appId: string;
            name: string;
            config?: {
                [key: string]: unknown;
            };
            hourlyBudgetMicro?: number | null;
            dailyBudgetMicro?: number | null;
            /** @default false */
            sharedMemory?: boolean;
            timeZone?: string | null;
        };
        /** @description One thing that happened to a memory. */
        ArchivedChange: {
            memoryId: number;
            kind: components["schemas"]["ChangeKind"];
            actor: string;
            reason: string;
            before?: string | null;
            after?: string | null;
            standing?: components["schemas"]["ArchivedStanding"] | null;
            conversationIds?: string[];
            relatedMemoryId?: number | null;
            /** Format: date-time */
            at: string;
        };
        /** @description A conversation with its messages. */
        ArchivedConversation: {
            conversationId: string;
            userId?: string | null;
            energyBudgetMicro?: number | null;
            metadata?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            snoozedUntil?: string | null;
            endAfterMinutes?: number | null;
            silentUntil?: string | null;
            endedAt?: string | null;
            endReason?: string | null;
            timeZone?: string | null;
            /** @default on */
            memory?: components["schemas"]["MemoryMode"];
            /** @default 0 */
            factsSeen?: number;
            /** @default 0 */
            summarised?: number;
            /** @default 0 */
            turnsSinceSummary?: number;
            summaries?: components["schemas"]["ArchivedSummary"][];
            messages?: components["schemas"]["ArchivedMessage"][];
        };
        /** @description A fact that stands, or one beneath the fact that replaced it. */
        ArchivedFact: {
            factId: number;
            userId?: string | null;
            statement: string;
            category: components["schemas"]["Category"];
            confidence: number;
            /** @default 1 */
            mentionCount?: number;
            /** @default false */
            pinned?: boolean;
            /** @default false */
            byHand?: boolean;
            agent: string;
            updatesFactId?: number | null;
            /** @default 1 */
            version?: number;
            saidAt?: string | null;
            /** Format: date-time */
            firstSeen: string;
            /** Format: date-time */
            lastSeen: string;
            /** Format: date-time */
            updatedAt: string;
            sources: components["schemas"]["ArchivedFactSource"][];
        };
        /** @description One thing that happened to a fact. */
        ArchivedFactChange: {
            factId: number;
            kind: components["schemas"]["FactChangeKind"];
            actor: string;
            reason: string;
            before?: string | null;
            after?: string | null;
            conversationIds?: string[];
            relatedFactId?: number | null;
            /** Format: date-time */
            at: string;
        };
        /** @description One place where a fact was said; without a conversation: by hand. */
        ArchivedFactSource: {
            conversationId?: string | null;
            messageIds?: string[];
            statement: string;
            category: components["schemas"]["Category"];
            agent: string;
            /** @default 1 */
            mentions?: number;
            saidAt?: string | null;
            /** Format: date-time */
            firstSeen: string;
            /** Format: date-time */
            lastSeen: string;
        };
        /** @description A memory that stands. */
        ArchivedMemory: {
            content: string;
            /** @default 5 */
            importance?: number;
            tags?: string[];
            /** @default false */
            pinned?: boolean;
            memoryId: number;
            userId?: string | null;
            agent: string;
            /** @default 1 */
            version?: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            sources?: components["schemas"]["ArchivedSource"][];
        };
        /** @description A message; its place in the list is its position. */
        ArchivedMessage: {
            messageId: string;
            role: components["schemas"]["Role"];
            name?: string | null;
            content: string;
            payload?: {
                [key: string]: unknown;
            } | null;
            tokens?: number | null;
            /** Format: date-time */
            createdAt: string;
            utcOffsetMinutes?: number | null;
        };
        /** @description The making of a memory, whether it still stands or not. */
        ArchivedOrigin: {
            memoryId: number;
            userId?: string | null;
            conversationId?: string | null;
            agent: string;
            /** Format: date-time */
            createdAt: string;
        };
        /** @description What a user agreed to have kept; that they agreed is said by its being here. */
        ArchivedProfile: {
            /** @default  */
            userId?: string;
            content: components["schemas"]["Content"];
            /** Format: date-time */
            agreedAt: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        /** @description A conversation whose words stand in a text. */
        ArchivedSource: {
            conversationId: string;
            messageIds?: string[];
        };
        /** @description What, beside its text, a memory was. */
        ArchivedStanding: {
            /** @default 5 */
            importance?: number;
            tags?: string[];
            /** @default false */
            pinned?: boolean;
            agent: string;
            sources?: components["schemas"]["ArchivedSource"][];
        };
        /** @description A summary of a part of a conversation, from one position to another, both included. */
        ArchivedSummary: {
            content: string;
            agent: string;
            fromPosition: number;
            toPosition: number;
            /** Format: date-time */
            createdAt: string;
        };
        /** @description What was set for a user. */
        ArchivedUser: {
            userId: string;
            timeZone?: string | null;
        };
        /** @description How many were added, and how many were there already. */
        Arrived: {
            imported: number;
            skipped: number;
        };
        /** @description Asks for the context of a conversation. ``messages`` stand for those stored under ``conversationId``. */
        AskContext: {
            conversationId?: string | null;
            /** @description Who speaks, where no conversation is named: that is its own user's, and no other may be named. */
            userId?: string | null;
            /** @description What the user says now; comes last. */
            message?: string | null;
            messages?: components["schemas"]["ContextMessage"][] | null;
            /** @description The model whose tokens are meant, as PROVIDER:NAME or NAME; lengths are reckoned as it counts. */
            model?: string | null;
            /** @description The model's window, tokens; the context is compacted so that it fits. */
            contextWindow?: number | null;
            /** @description Tokens of the window to leave for the answer; 1000 when not given. */
            reserve?: number | null;
            /** @description Most tokens for what is recalled. */
            tokenBudget?: number | null;
            /**
             * @description two: what is recalled whatever is said behind the leading system messages, the same from question to question, and what was chosen for this question before the last user message. one: all of it first.
             * @default two
             */
            placement?: components["schemas"]["Placement"];
        };
        /** @description Searches what was said in an app's conversations. */
        AskSearch: {
            query: string;
            /** @description Looked in first, and its user's others, or those that name nobody if it does, only where it has fewer than three results. */
            conversationId?: string | null;
            /** @description Only this user's conversations, and those that name nobody where the app shares these (empty: only those that name nobody); without it and without a conversation, all of the app's. */
            userId?: string | "" | null;
            /**
             * @description Most results.
             * @default 10
             */
            limit?: number;
            filters?: components["schemas"]["SearchFilters"];
            /**
             * @description Whether each result says how its score came about.
             * @default false
             */
            explain?: boolean;
        };
        /** @description Searches recorded sessions; every condition that is given must hold, and one must be given. */
        AskSessions: {
            text?: string | null;
            /** @description Files it touched, whole paths or the ends of such. */
            files?: string[] | null;
            topics?: string[] | null;
            dateRange?: components["schemas"]["DateRange"] | null;
            keepitWeight?: components["schemas"]["WeightRange"] | null;
            /** @description Originals, versions, or both, each found place by itself; unless given, a session is found once, where most of the words stand. With a text. */
            kinds?: components["schemas"]["SessionHitKind"][] | null;
            /** @default 20 */
            limit?: number;
            cursor?: string | null;
        };
        /** @description Where somebody works and what on; what is left out does not count. */
        AskSuggestions: {
            workingDir?: string | null;
            files?: string[];
            topics?: string[];
            text?: string | null;
            /** @default 16000 */
            tokenBudget?: number;
        };
        /**
         * @description What happened at the gate.
         * @enum {string}
         */
        AuditKind: "granted" | "revoked" | "written" | "erased" | "used" | "withheld";
        /** @description Something that happened at the gate; it holds no text of a profile. */
        AuditLine: {
            userId: string;
            kind: components["schemas"]["AuditKind"];
            actor: string;
            /** @description How often; the same use by the same caller within an hour is one line. */
            count: number;
            /** Format: date-time */
            at: string;
            /** Format: date-time */
            lastAt: string;
        };
        /** @description Lines of the audit, newest first. */
        AuditList: {
            audit: components["schemas"]["AuditLine"][];
            cursor: string | null;
        };
        /** @description Whether and when sessions are compressed further as they grow old. */
        AutoDecay: {
            /** @default false */
            enabled?: boolean;
            /** @default daily */
            schedule?: components["schemas"]["AgeingSchedule"];
            /**
             * @default {
             *       "createAfterDays": 7,
             *       "createPreset": "standard",
             *       "aggressiveAfterDays": 30,
             *       "aggressivePreset": "aggressive",
             *       "pruneIntermediateAfterDays": 60
             *     }
             */
            rules?: components["schemas"]["DecayRules"];
        };
        /** @description How pages show sessions. */
        BrowserConfiguration: {
            /** @default timeline */
            defaultView?: components["schemas"]["BrowserView"];
            /** @default true */
            showTokenEstimates?: boolean;
            /** @default true */
            confirmDestructiveActions?: boolean;
        };
        /**
         * @description What a browser of sessions opens with.
         * @enum {string}
         */
        BrowserView: "timeline" | "sessions" | "keepits" | "storage";
        /**
         * @description Where spending stands against a budget.
         * @enum {string}
         */
        BudgetStatus: "within" | "depleted" | "exceeded";
        /**
         * @description Where a version or a composition stands.
         * @enum {string}
         */
        BuildState: "working" | "ready" | "failed";
        /**
         * @description What is done to many facts at once.
         * @enum {string}
         */
        BulkAction: "delete" | "move" | "pin" | "unpin";
        /**
         * @description How a model call ended; a closed set, so it can label a metric.
         * @enum {string}
         */
        CallOutcome: "answered" | "malformed" | "truncated" | "prompt_cut" | "timeout" | "unavailable" | "refused";
        /**
         * @description What a fact is about, the most pressing first.
         * @enum {string}
         */
        Category: "project" | "preference" | "identity";
        /** @description Changes the rules of a project; what is left out stays, null takes it back to what the app says. */
        ChangeAgeing: {
            retention?: components["schemas"]["Retention"] | null;
            autoDecay?: components["schemas"]["AutoDecay"] | null;
        };
        /** @description One thing that happened to a memory. */
        ChangeAnswer: {
            changeId: number;
            memoryId: number;
            kind: components["schemas"]["ChangeKind"];
            actor: string;
            reason: string;
            before: string | null;
            after: string | null;
            relatedMemoryId: number | null;
            jobId: string | null;
            /** Format: date-time */
            at: string;
        };
        /** @description Changes an app; what is left out stays. A budget of null is none, a time zone of null UTC. */
        ChangeApp: {
            name?: string | null;
            /** @description The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does. */
            config?: {
                [key: string]: unknown;
            } | null;
            hourlyBudget?: number | null;
            dailyBudget?: number | null;
            /** @description Who answers its conversations: the loop, when a model is set, or the app itself. */
            answeredBy?: components["schemas"]["AnsweredBy"] | null;
            /** @description Whether a person approves each answer of the loop's before it is sent. */
            approveAnswers?: boolean | null;
            weight?: number | null;
            /** @description Whether what names no user (memories, facts, old messages) is recalled for every user of the app. */
            sharedMemory?: boolean | null;
            /** @description Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's. */
            timeZone?: string | null;
        };
        /** @description Changes: How pages show sessions. */
        ChangeBrowserConfiguration: {
            defaultView?: components["schemas"]["BrowserView"] | null;
            showTokenEstimates?: boolean | null;
            confirmDestructiveActions?: boolean | null;
        };
        /** @description Changes: The least weight that survives at no distance at all, by aggressiveness. */
        ChangeCompressionBase: {
            light?: number | null;
            moderate?: number | null;
            aggressive?: number | null;
        };
        /** @description Whether a user agrees to having a profile. */
        ChangeConsent: {
            appId: string;
            /**
             * @description A user of the app; empty for an app that names none.
             * @default
             */
            userId?: string | "";
            consent: boolean;
        };
        /** @description Changes an open conversation; what is left out stays. A time zone of null is none. */
        ChangeConversation: {
            /** @description Whose days are meant in it, an IANA name; without it the user's, or what its messages came with. */
            timeZone?: string | null;
            /** @description on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither. What was drawn from it before stays. */
            memory?: components["schemas"]["MemoryMode"] | null;
        };
        /** @description Changes: What holds where a request or a project does not say. */
        ChangeDefaultsConfiguration: {
            compressionPreset?: components["schemas"]["TierPreset"] | null;
            /** @description False: marked parts all survive. */
            keepitDecayEnabled?: boolean | null;
            /** @description Whether projects' folders are looked through. */
            autoRegisterSessions?: boolean | null;
            /** @description Who compresses. */
            model?: string | null;
        };
        /** @description Changes many facts, all or none. */
        ChangeFacts: {
            action: components["schemas"]["BulkAction"];
            ids: number[];
            /** @description Where to; needed to move, and only then. */
            category?: components["schemas"]["Category"] | null;
        };
        /** @description Changes: What decides whether marked parts survive, beside their weight, the ratio and the distance. */
        ChangeKeepitDecay: {
            compressionBase?: components["schemas"]["ChangeCompressionBase"] | null;
            /** @description From here on distance makes no more difference. */
            maxSessionDistance?: number | null;
            /** @description What weighs this much always survives. */
            pinnedWeight?: number | null;
        };
        /**
         * @description What happened to a memory.
         * @enum {string}
         */
        ChangeKind: "created" | "edited" | "merged" | "absorbed" | "removed" | "gave_way" | "restored" | "erased";
        /** @description What was done: who, why, before and after. */
        ChangeLine: {
            subject: string;
            sessionId: string | null;
            kind: string;
            actor: string;
            reason: string;
            before: {
                [key: string]: unknown;
            };
            after: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            at: string;
        };
        /** @description Changes: of one memory oldest first, of an app newest first. */
        ChangeList: {
            changes: components["schemas"]["ChangeAnswer"][];
            cursor?: string | null;
        };
        /** @description What to change of a project. */
        ChangeProject: {
            displayName?: string | null;
            /** @description null forgets it; only an admin may name one. */
            sourceFolder?: string | null;
            settings?: components["schemas"]["ChangeProjectSettings"] | null;
        };
        /** @description Changes: What holds for all sessions of a project. */
        ChangeProjectSettings: {
            defaultCompressionPreset?: components["schemas"]["TierPreset"] | null;
            /** @description Whether its folder is looked through for sessions. */
            autoRegisterNewSessions?: boolean | null;
            keepitDecayEnabled?: boolean | null;
            /** @description Who compresses; null: what is set up. */
            model?: string | null;
            compressionRetention?: string | number | null;
            keepitDecay?: components["schemas"]["ChangeKeepitDecay"] | null;
        };
        /** @description Changes: What holds for all sessions of an app, in the groups and names of ``config.json``. */
        ChangeSessionsConfiguration: {
            storage?: components["schemas"]["ChangeStorageConfiguration"] | null;
            defaults?: components["schemas"]["ChangeDefaultsConfiguration"] | null;
            keepitDecay?: components["schemas"]["ChangeKeepitDecay"] | null;
            ui?: components["schemas"]["ChangeBrowserConfiguration"] | null;
        };
        /** @description Changes: What is kept, and how much. */
        ChangeStorageConfiguration: {
            /** @description Of uploads and archives under way. */
            maxCacheSize?: string | number | null;
            /** @description `all`, so many newest versions of a session, or `30 days`. */
            compressionRetention?: string | number | null;
        };
        /** @description Changes what is set for a user; what is left out stays. */
        ChangeUser: {
            /** @description Whose days are meant by what they say, an IANA name; null: the days of what their messages came with. */
            timeZone?: string | null;
        };
        /** @description Changes a webhook; what is left out stays. */
        ChangeWebhook: {
            url?: string | null;
            kinds?: components["schemas"]["EventKind"][] | null;
            enabled?: boolean | null;
        };
        /** @description A fact after a change. */
        ChangedFact: {
            /** @default true */
            success?: boolean;
            fact: components["schemas"]["FactAnswer"];
        };
        /** @description What became of each, in the order in which they were named. */
        ChangedFacts: {
            /** @default true */
            success?: boolean;
            results: components["schemas"]["FactOutcome"][];
        };
        /** @description All facts, or all of one user's, are deleted, and can be taken back for a moment. */
        ClearedFacts: {
            /** @default true */
            success?: boolean;
            /** @description Whose; null: the app's. */
            userId: string | null;
            deletedCount: number;
            /** Format: date-time */
            undoUntil: string;
            clearId: string;
            /** @description Of a clear before this one, which is final now. */
            receipt?: components["schemas"]["Receipt"] | null;
        };
        /** @description How room was made on a day, by outcome. */
        CompactionDay: {
            /**
             * Format: date
             * @description UTC.
             */
            day: string;
            compactions: number;
            outcomes: {
                [key: string]: number;
            };
        };
        /** @description How room was made, day by day, the oldest first; days on which none was made too. */
        CompactionDays: {
            appId: string;
            /** @description Null: of all of the app's memories. */
            userId: string | null;
            compactions: number;
            days: components["schemas"]["CompactionDay"][];
        };
        /**
         * @description How room was made; a closed set, so it can label a metric.
         * @enum {string}
         */
        CompactionOutcome: "deleted" | "merged" | "oldest_went" | "least_went" | "new_gave_way";
        /**
         * @description How far a context was compacted; a closed set, so it can label a metric.
         * @enum {string}
         */
        CompactionStage: "none" | "stage1" | "stage2";
        /**
         * @description How a session gets into a composition.
         * @enum {string}
         */
        ComponentForm: "original" | "version" | "join" | "compress";
        /** @description A session's part in a composition. */
        ComponentItem: {
            sessionId: string;
            projectId: string;
            /** @description The version that is used, or `original`. */
            versionId: string;
            /** @description Whether that version is there yet; null for the original. */
            versionState: components["schemas"]["BuildState"] | null;
            order: number;
            /** @description Tokens it may take; more where others leave some. */
            allocation: number;
            /** @description Tokens it takes, with its heading. */
            tokenContribution: number;
            /** @description Segments for which there was no room. */
            leftOut: number;
            /** @description Whether the version covers less than the session holds by now. */
            stale: boolean;
            /** @description Settings and reason, where a version was made for it. */
            recompress: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description In which order the sessions stand.
         * @enum {string}
         */
        ComponentOrder: "as-given" | "oldest-first";
        /** @description A session that is to be in it. */
        ComponentRequest: {
            sessionId: string;
            /**
             * @description `auto`, `original`, or a version as `v001`.
             * @default auto
             */
            versionId?: string;
            /** @description Its tokens; with strategy custom. */
            allocation?: number | null;
            /** @description Has a new version made for it; with versionId auto. */
            recompressSettings?: components["schemas"]["CompressionSettings"] | null;
        };
        /** @description Asks for the same composition over what there is now. */
        ComposeAgain: {
            /** @description Of the new one; unless said, it takes this one's place. */
            name?: string | null;
            /** @default false */
            replace?: boolean;
        };
        /** @description A composition, without what it says. */
        CompositionAnswer: {
            compositionId: string;
            projectId: string;
            name: string;
            state: components["schemas"]["BuildState"];
            /** @description Why it failed, and what to do. */
            failure: string | null;
            jobId: string | null;
            tokenBudget: number;
            totalTokens: number;
            totalMessages: number;
            /** @description In order; none once it has failed. */
            components: components["schemas"]["ComponentItem"][];
            usedInSessions: string[];
            uses: number;
            lastUsed: string | null;
            askedBy: string;
            /** Format: date-time */
            createdAt: string;
            finishedAt: string | null;
            /** @description As it was asked for. */
            request: {
                [key: string]: unknown;
            };
        };
        /** @description What a composition would be made of; nothing was written. */
        CompositionForeseen: {
            tokenBudget: number;
            /** @description Tokens allocated to sessions; headings take the rest. */
            allocated: number;
            components: components["schemas"]["ForeseenItem"][];
            /** @description Versions that would have to be made. */
            compressions: number;
        };
        /** @description A project's compositions, newest first. */
        CompositionList: {
            compositions: components["schemas"]["CompositionAnswer"][];
            cursor: string | null;
        };
        /** @description A composition that was asked for, and the job that makes it. */
        CompositionMade: {
            composition: components["schemas"]["CompositionAnswer"];
            job: components["schemas"]["JobAnswer"];
        };
        /** @description A composition was removed. */
        CompositionRemoved: {
            /** @default true */
            success?: boolean;
            compositionId: string;
        };
        /** @description The least weight that survives at no distance at all, by aggressiveness. */
        CompressionBase: {
            /** @default 0.1 */
            light?: number;
            /** @default 0.3 */
            moderate?: number;
            /** @default 0.5 */
            aggressive?: number;
        };
        /**
         * @description How the ratio runs through a session.
         * @enum {string}
         */
        CompressionMode: "uniform" | "tiered";
        /** @description What a version is made with; the same settings over the same bytes give the same version. */
        CompressionSettings: {
            /** @default tiered */
            mode?: components["schemas"]["CompressionMode"];
            /** @description Of the uniform mode; 10 unless said. */
            compactionRatio?: number | null;
            /** @description Of the uniform mode; by the ratio unless said. */
            aggressiveness?: components["schemas"]["Aggressiveness"] | null;
            /** @description Of the tiered mode; standard unless said. */
            tierPreset?: components["schemas"]["TierPreset"] | null;
            /** @description Ascending, the last ends at 100. */
            customTiers?: components["schemas"]["Tier"][] | null;
            /** @description Who compresses: `extractive`, or the model of the settings; that unless said. */
            model?: string | null;
            /**
             * @description Messages at the beginning to leave out.
             * @default 0
             */
            skipFirstMessages?: number;
            /** @default decay */
            keepitMode?: components["schemas"]["KeepitMode"];
            /**
             * @description 1: the latest session; 10 and more: an old one.
             * @default 1
             */
            sessionDistance?: number;
            /** @description What is left out is as the project says. */
            decay?: components["schemas"]["KeepitDecay"] | null;
        };
        /** @description Whether a user agrees to having a profile. */
        ConsentAnswer: {
            appId: string;
            userId: string;
            consent: boolean;
            /** @description null where the user never said. */
            changedAt?: string | null;
            changedBy?: string | null;
            /** @description What was erased when the consent was taken back. */
            receipt?: components["schemas"]["Receipt"] | null;
            /** @description What is left to do, where something is. */
            note?: string | null;
        };
        /** @description Everything a profile says. */
        Content: {
            /**
             * @default {
             *       "preferredLanguages": [],
             *       "frameworkExperience": []
             *     }
             */
            preferences?: components["schemas"]["Preferences"];
            /** @default {} */
            context?: components["schemas"]["Context"];
            /** @default  */
            freeformNotes?: string;
        };
        /** @description What a user works on. */
        Context: {
            projectGoals?: string | null;
            domain?: string | null;
            constraints?: string | null;
        };
        /** @description The messages to send, what is recalled among them, and what they amount to. */
        ContextAnswer: {
            messages: ({
                /** @enum {string} */
                role: "user" | "assistant" | "system" | "developer" | "tool" | "function";
                /** @description Text, parts (text, image_url, tool_use, tool_result and others), or null beside tool_calls. */
                content?: string | {
                    [key: string]: unknown;
                }[] | null;
                name?: string | null;
                /** @description The calls an assistant makes. */
                tool_calls?: {
                    [key: string]: unknown;
                }[] | null;
                /** @description Of the call this is the result of. */
                tool_call_id?: string | null;
                /** @description What tool_calls replaced. */
                function_call?: {
                    [key: string]: unknown;
                } | null;
                refusal?: string | null;
                audio?: {
                    [key: string]: unknown;
                } | null;
                annotations?: {
                    [key: string]: unknown;
                }[] | null;
                reasoning?: unknown;
                reasoning_content?: unknown;
                reasoning_details?: unknown;
                thinking?: unknown;
                thinking_blocks?: unknown;
                images?: unknown[] | null;
                parsed?: unknown;
                tool_name?: string | null;
                cache_control?: unknown;
                provider_specific_fields?: unknown;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Places in messages, from 0, of those that hold what is recalled. */
            recalledAt: number[];
            /** @description Tokens at the beginning of messages that are the same for the next question of the conversation, unless something remembered changes meanwhile or the window becomes full; with placement one, 0. */
            stablePrefixTokens: number;
            /** @description The recalled text alone, all of it; it already stands in messages. */
            systemPrompt: string;
            memoryTokens: number;
            totalTokens: number;
            /** @description Of contextWindow, per cent; null when none was given. */
            percentUsed: number | null;
            /** @description How far it was compacted. */
            stage: components["schemas"]["CompactionStage"];
            included: components["schemas"]["Included"];
            /** @description Parts that could not be had at the moment. */
            missing: string[];
            /** @description What the search for earlier messages had to do without: words, vectors, embedding. */
            degraded: string[];
            /** @description Messages left out to fit the window. */
            trimmed: number;
            /** @description Whether a message was shortened, because it alone exceeds the window. */
            cut: boolean;
            /** @description Whether the conversation leaves so little of the window that less is recalled beside it. */
            shrunk: boolean;
            /** @description The least certain figure used: the provider's, one calibrated for the model, or an estimate. */
            tokenSource: components["schemas"]["TokenSource"];
        };
        /** @description A message of the conversation so far, as OpenAI's or Anthropic's chat programs have it. */
        ContextMessage: {
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "developer" | "tool" | "function";
            /** @description Text, parts (text, image_url, tool_use, tool_result and others), or null beside tool_calls. */
            content?: string | {
                [key: string]: unknown;
            }[] | null;
            name?: string | null;
            /** @description The calls an assistant makes. */
            tool_calls?: {
                [key: string]: unknown;
            }[] | null;
            /** @description Of the call this is the result of. */
            tool_call_id?: string | null;
            /** @description What tool_calls replaced. */
            function_call?: {
                [key: string]: unknown;
            } | null;
            refusal?: string | null;
            audio?: {
                [key: string]: unknown;
            } | null;
            annotations?: {
                [key: string]: unknown;
            }[] | null;
            reasoning?: unknown;
            reasoning_content?: unknown;
            reasoning_details?: unknown;
            thinking?: unknown;
            thinking_blocks?: unknown;
            images?: unknown[] | null;
            parsed?: unknown;
            tool_name?: string | null;
            cache_control?: unknown;
            provider_specific_fields?: unknown;
            /** @description Its length as your model's provider counted it. */
            tokens?: number | null;
        };
        /** @description A conversation. */
        ConversationAnswer: {
            conversationId: string;
            appId: string;
            userId: string | null;
            state: components["schemas"]["ConversationState"];
            messageCount: number;
            metadata: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            snoozedUntil: string | null;
            /** @description When its last snooze ended, until something new is said. */
            wokenAt: string | null;
            /** @description When the oldest user message came that no answer follows. */
            unansweredSince: string | null;
            /** @description Of silence, after which it ends by itself. */
            endAfterMinutes: number | null;
            endedAt: string | null;
            endReason: string | null;
            /** @description Whose days are meant in it, an IANA name; without it the user's, or what its messages came with. */
            timeZone: string | null;
            /** @description on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither. */
            memory: components["schemas"]["MemoryMode"];
        };
        /** @description A conversation, what it has cost and what it gave rise to. */
        ConversationDetails: {
            conversationId: string;
            appId: string;
            userId: string | null;
            state: components["schemas"]["ConversationState"];
            messageCount: number;
            metadata: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            snoozedUntil: string | null;
            /** @description When its last snooze ended, until something new is said. */
            wokenAt: string | null;
            /** @description When the oldest user message came that no answer follows. */
            unansweredSince: string | null;
            /** @description Of silence, after which it ends by itself. */
            endAfterMinutes: number | null;
            endedAt: string | null;
            endReason: string | null;
            /** @description Whose days are meant in it, an IANA name; without it the user's, or what its messages came with. */
            timeZone: string | null;
            /** @description on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither. */
            memory: components["schemas"]["MemoryMode"];
            energySpent: number;
            energyBudget: number | null;
            /** @description Negative when the budget is exceeded; null without one. */
            energyRemaining: number | null;
            budgetStatus: components["schemas"]["BudgetStatus"] | null;
            /** @description The loop's answer that waits for approval; not told to a user's own token. */
            pendingAnswerId: string | null;
            jobs: components["schemas"]["JobAnswer"][];
        };
        /** @description Conversations, newest first. */
        ConversationList: {
            conversations: components["schemas"]["ConversationAnswer"][];
            cursor: string | null;
        };
        /**
         * @description Where a conversation stands.
         * @enum {string}
         */
        ConversationState: "open" | "snoozed" | "ended";
        /** @description When sessions took place, in part at least. */
        DateRange: {
            start?: string | null;
            end?: string | null;
        };
        /** @description A retrieval taken apart. */
        DebugAnswer: {
            query: string;
            results: components["schemas"]["DebugResult"][];
            /** @description Durations: totalMs, embedMs, ftsMs, denseMs, rerankMs. */
            metrics: {
                [key: string]: number;
            };
            /** @description Cosines of the three results most like the question. */
            topSimilarities: number[];
            sources: {
                [key: string]: number;
            };
            flags: {
                [key: string]: unknown;
            };
            degraded: string[];
        };
        /** @description One result with where it came from. */
        DebugResult: {
            content: string;
            score: number;
            /** @description dense, fts or both; neighbour: found by what stands next to it. Of a summary dense or recency, of a profile consent. */
            source: string;
            /** @description message, chunk, summary or profile. */
            type: string;
            messageId: string | null;
            conversationId: string | null;
            explanation: {
                [key: string]: number;
            };
        };
        /**
         * @description How readily marked parts are given up; light is also called minimal.
         * @enum {string}
         */
        DecayLevel: "light" | "minimal" | "moderate" | "aggressive";
        /** @description What would become of a session's marked parts. */
        DecayPreview: {
            markers: components["schemas"]["MarkerForeseen"][];
            /** @description The least weight that survives. */
            threshold: number;
            /** @description What weighs this much always survives. */
            pinnedWeight: number;
        };
        /** @description What becomes of a session with age; days since something was last said in it, or it was last used. */
        DecayRules: {
            /** @default 7 */
            createAfterDays?: number;
            /**
             * @description Of the version made then, if it has none; the project's unless said.
             * @default standard
             */
            createPreset?: components["schemas"]["TierPreset"];
            /** @default 30 */
            aggressiveAfterDays?: number;
            /** @default aggressive */
            aggressivePreset?: components["schemas"]["TierPreset"];
            /**
             * @description Then versions other than the aggressive one go.
             * @default 60
             */
            pruneIntermediateAfterDays?: number;
        };
        /** @description What holds where a request or a project does not say. */
        DefaultsConfiguration: {
            /** @default standard */
            compressionPreset?: components["schemas"]["TierPreset"];
            /**
             * @description False: marked parts all survive.
             * @default true
             */
            keepitDecayEnabled?: boolean;
            /**
             * @description Whether projects' folders are looked through.
             * @default false
             */
            autoRegisterSessions?: boolean;
            /**
             * @description Who compresses.
             * @default extractive
             */
            model?: string;
        };
        /**
         * @description What a deferred job waits for.
         * @enum {string}
         */
        Deferral: "energy" | "budget" | "provider_away";
        /** @description Sessions to take out of the registry. */
        DeleteSessions: {
            sessionIds: string[];
        };
        /** @description A fact is deleted. */
        DeletedFact: {
            /** @default true */
            success?: boolean;
            id: number;
            /** Format: date-time */
            undoUntil: string;
        };
        /** @description A memory is gone. */
        DeletedMemory: {
            /** @default true */
            success?: boolean;
            /** @description What is left to do after an erasure, where something is. */
            note?: string | null;
        };
        /** @description What became of one session. */
        DeletedSession: {
            sessionId: string;
            deleted: boolean;
            /** @description Why not, as the error of a single request would say it. */
            code?: string | null;
            message?: string | null;
            /** @description As those of an error. */
            details?: {
                [key: string]: unknown;
            };
        };
        /** @description What became of each session. */
        DeletedSessions: {
            sessions: components["schemas"]["DeletedSession"][];
        };
        /**
         * @description How a delivery to a webhook went; a closed set, so it can label a metric.
         * @enum {string}
         */
        DeliveryOutcome: "delivered" | "gone" | "refused" | "unreachable" | "forbidden" | "dropped";
        /** @description Whether one thing the loop needs is there. */
        Dependency: {
            ok: boolean;
            /** @description Whether readiness depends on it. */
            needed: boolean;
            /** @description What was found, and what to do where it is not well. */
            detail: string;
        };
        /** @description A setting that is not the same; null where a version has it not. */
        DifferingSetting: {
            version: unknown;
            other: unknown;
        };
        /** @description What the doctor found about one thing. */
        DoctorFinding: {
            what: string;
            /** @enum {string} */
            health: "ok" | "warn" | "fail";
            found: string;
            /** @description What to do about it; null where it is well. */
            mend: string | null;
        };
        /** @description What `afterthought doctor` finds where the service runs. */
        DoctorFindings: {
            findings: components["schemas"]["DoctorFinding"][];
            /** @description What the service runs with that is not at its default, by environment variable: no secret, and not where it lives. */
            settings: {
                [key: string]: string;
            };
        };
        /** @description Durations, milliseconds. */
        Durations: {
            count: number;
            mean: number;
            p50: number;
            p95: number;
            p99: number;
        };
        /** @description Changes a fact; what is left out, or null, stays. */
        EditFact: {
            fact?: string | null;
            category?: components["schemas"]["Category"] | null;
            pinned?: boolean | null;
        };
        /** @description Changes a memory; what is left out, or null, stays. */
        EditMemory: {
            content?: string | null;
            importance?: number | null;
            tags?: string[] | null;
            pinned?: boolean | null;
        };
        /** @description A memory after a change. */
        EditedMemory: {
            /** @default true */
            success?: boolean;
            memory: components["schemas"]["MemoryAnswer"];
        };
        /** @description Ends a conversation. */
        EndConversation: {
            reason?: string | null;
        };
        /** @description The jobs that ending it asked for; the same ones when it is ended again. */
        EndedConversation: {
            conversationId: string;
            jobs: components["schemas"]["JobAnswer"][];
        };
        /** @description The energy of the installation. */
        EnergyAnswer: {
            /** @description 0..100, with a floor of -50. */
            level: number;
            percentage: number;
            status: components["schemas"]["Status"];
            replenishPerSecond: number;
            /** @description Memory work starts only above this. */
            gatePercent: number;
            /** @description Set aside for model calls under way. */
            reserved: number;
            deferredJobs: number;
            /** @description Share of memory work in 24 hours, 0..1; null when nothing was. */
            memoryShare: number | null;
            /** @description Until memory work may start; null: never. */
            secondsUntilOpen: number | null;
        };
        /** @description The last hours, the present one last; those without a call too. */
        EnergyHistory: {
            hours: components["schemas"]["HourAnswer"][];
        };
        /** @description What a purge or an erasure did. */
        Erased: {
            /** @default true */
            success?: boolean;
            deletedCount: number;
            receipt: components["schemas"]["Receipt"];
            /** @description What is left to do, where something is. */
            note?: string | null;
        };
        /** @description The shape of every answer that is not a success. */
        ErrorAnswer: {
            error: components["schemas"]["ErrorBody"];
        };
        /** @description What went wrong and what to do about it. */
        ErrorBody: {
            /** @description Never changes once published. */
            code: string;
            /** @description What happened and what to do. */
            message: string;
            /** @description Machine-readable particulars. Where an operation would help, `operation` has its `id` as in this document, what is known of its `arguments`, and its `route` as the message names it. */
            details?: {
                [key: string]: unknown;
            };
        };
        /**
         * @description What happened; a closed set, so it can label a metric.
         * @enum {string}
         */
        EventKind: "answer.sent" | "answer.pending" | "answer.rejected" | "conversation.ended" | "conversation.snoozed" | "conversation.woken" | "memory.created" | "memory.changed" | "memory.removed" | "memories.purged" | "fact.created" | "fact.changed" | "fact.removed" | "profile.changed" | "webhook.disabled" | "job.deferred" | "job.finished";
        /** @description Events by position. */
        EventList: {
            events: components["schemas"]["EventPayload"][];
            /** @description What to ask after next. */
            cursor: number;
            /** @description What was lost to age; null when nothing was. */
            gap: components["schemas"]["GapAnswer"] | null;
        };
        /** @description An event as it goes to listeners. */
        EventPayload: {
            /** @description What a listener resumes after; null for a test. */
            position: number | null;
            /** @description What happened. */
            kind: string;
            appId: string;
            conversationId: string | null;
            /** @description Id of the message, memory, fact, answer or job it is about. */
            subject: string | null;
            /** @description Numbers and words of closed sets. */
            details: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            at: string;
            /** @description The text it is about, as it stands when it is told; null when it stands no more. */
            content?: string | null;
        };
        /** @description What would go of each user's facts. Pinned facts never do, and are not named. */
        EvictionAnswer: {
            standing: number;
            /**
             * @description Facts of a user that remain after an eviction.
             * @default 120
             */
            remain?: number;
            /**
             * @description Facts of a user at the very most.
             * @default 150
             */
            limit?: number;
            /** @description As if each user had so many new ones. */
            more: number;
            facts: components["schemas"]["ScoredFactItem"][];
            /** @description The same facts, the one that expires next first. */
            expiring: number[];
        };
        /** @description A fact. */
        FactAnswer: {
            id: number;
            fact: string;
            category: components["schemas"]["Category"];
            state: components["schemas"]["FactState"];
            confidence: number;
            mentionCount: number;
            /**
             * Format: date-time
             * @description When it was last said: the order of facts about one thing.
             */
            saidAt: string;
            /** Format: date-time */
            firstSeen: string;
            /**
             * Format: date-time
             * @description When it was last heard of here: the clock of expiry.
             */
            lastSeen: string;
            lastSeenConversationId: string | null;
            pinned: boolean;
            /** @description The fact it contradicted and replaced. */
            updatesFactId: number | null;
            userId: string | null;
            /** @description Whether a person wrote it first. */
            byHand: boolean;
            /** @description Who wrote the present text: extractive, a model, admin or a token. */
            agent: string;
            version: number;
            /** Format: date-time */
            updatedAt: string;
            /** @description Until when its deletion can be taken back. */
            undoUntil: string | null;
            sources: components["schemas"]["FactSourceAnswer"][];
        };
        /** @description One thing that happened to a fact. */
        FactChangeAnswer: {
            changeId: number;
            factId: number;
            /** @description Whose fact it is, or was. */
            userId: string | null;
            kind: components["schemas"]["FactChangeKind"];
            actor: string;
            reason: string;
            before: string | null;
            after: string | null;
            relatedFactId: number | null;
            jobId: string | null;
            /** Format: date-time */
            at: string;
        };
        /**
         * @description What happened to a fact.
         * @enum {string}
         */
        FactChangeKind: "learned" | "written" | "repeated" | "edited" | "replaced" | "pinned" | "unpinned" | "moved" | "deleted" | "undone" | "evicted" | "expired" | "restored" | "erased";
        /** @description Changes: of one fact oldest first, of an app newest first. */
        FactChangeList: {
            changes: components["schemas"]["FactChangeAnswer"][];
            cursor: string | null;
        };
        /** @description Facts: pinned ones first, then by category, confidence and how lately they were said. */
        FactList: {
            facts: components["schemas"]["FactAnswer"][];
            /** @description On all pages. */
            total: number;
            cursor: string | null;
            /** @description Until when the last clear of the facts asked for can be taken back; null: none can. */
            clearUndoUntil?: string | null;
        };
        /** @description What became of one of many facts. */
        FactOutcome: {
            id: number;
            undoUntil?: string | null;
            /** @description As it is now; null for a deleted one. */
            fact?: components["schemas"]["FactAnswer"] | null;
        };
        /** @description One place where a fact was said. */
        FactSourceAnswer: {
            /** @description Null: by a person's hand. */
            conversationId: string | null;
            messageIds: string[];
            /** @description As it was understood there. */
            fact: string;
            agent: string;
            mentions: number;
            /**
             * Format: date-time
             * @description When it was last said there.
             */
            saidAt: string;
            /** Format: date-time */
            firstSeen: string;
            /** Format: date-time */
            lastSeen: string;
        };
        /**
         * @description Where a fact stands; a closed set, so it can label a metric.
         * @enum {string}
         */
        FactState: "standing" | "replaced" | "deleted";
        /** @description Asks what a composition would be made of. */
        ForeseeComposition: {
            components: components["schemas"]["ComponentRequest"][];
            /** @description Never exceeded. */
            totalTokenBudget: number;
            /** @default equal */
            strategy?: components["schemas"]["AllocationStrategy"];
            /** @default both */
            outputFormat?: components["schemas"]["OutputFormat"];
            /** @default as-given */
            order?: components["schemas"]["ComponentOrder"];
            /** @description 1: versions must cover all there is now; 10: any version will do. */
            minFreshness?: number | null;
            /** @description Who compresses where that is needed. */
            model?: string | null;
            /** @description Stands above it, so that a long one takes a few tokens. */
            name?: string | null;
        };
        /** @description What a session would get. */
        ForeseenItem: {
            sessionId: string;
            /** @description As its original, a version there is, one being made, or one to be made. */
            way: components["schemas"]["ComponentForm"];
            /** @description The version that is there or being made. */
            versionId: string | null;
            allocation: number;
            originalTokens: number;
            stale: boolean;
            /** @description Of the version that would be made. */
            settings: {
                [key: string]: unknown;
            } | null;
            reason: string;
        };
        /** @description A formula in force, by which results are ranked. */
        Formula: {
            value: components["schemas"]["RankingFormula"];
            /** @description What it comes from: the settings, a change for all apps, or one for this app. */
            source: components["schemas"]["TuningSource"];
        };
        /** @description A session, or a version of one, that was found. */
        FoundSession: {
            sessionId: string;
            projectId: string;
            /** @description None: the original. */
            versionId: string | null;
            score: number;
            snippet: components["schemas"]["SessionSnippet"] | null;
            matchedFiles: string[];
            matchedTopics: string[];
            topics: string[];
            firstTimestamp: string | null;
            lastTimestamp: string | null;
            /** @description Whether it belongs to another project than the one searched. */
            isLinked: boolean;
        };
        /** @description What was found: with a text the best first, else the latest first. */
        FoundSessions: {
            results: components["schemas"]["FoundSession"][];
            cursor: string | null;
        };
        /** @description Events that were asked for and are not kept any more. */
        GapAnswer: {
            after: number;
            /** @description Only events after this position are kept; the listener goes on here. */
            keptAfter: number;
        };
        /**
         * @description What the gate says.
         * @enum {string}
         */
        GateVerdict: "passes" | "fails" | "not_enough_queries";
        /**
         * @description What an app's token may do beside working with its app's data, if it was made for it.
         * @enum {string}
         */
        Grant: "tokens" | "uninstall" | "answers";
        /**
         * @description How much of a message a version holds.
         * @enum {string}
         */
        Held: "whole" | "part" | "none";
        /**
         * @description What was found.
         * @enum {string}
         */
        HitKind: "message" | "prose" | "code";
        /** @description What an hour cost. Amounts in units. */
        HourAnswer: {
            /**
             * Format: date-time
             * @description When it began, UTC.
             */
            hour: string;
            /** @description Reckoned from the calls of each minute; never higher than it was. */
            lowestLevel: number;
            calls: number;
            /** @description Of them those of models; the others were made by the built-in agent. */
            modelCalls: number;
            spent: number;
            byKind: {
                [key: string]: number;
            };
            /** @description Of the ten apps that spent most in all these hours. */
            byApp: {
                [key: string]: number;
            };
        };
        /** @description What an import added. */
        ImportedAnswer: {
            /** @default true */
            success?: boolean;
            conversations: components["schemas"]["Arrived"];
            messages: number;
            memories: components["schemas"]["Arrived"];
            history: components["schemas"]["Arrived"];
            facts: components["schemas"]["Arrived"];
            factHistory: components["schemas"]["Arrived"];
            summaries: number;
            profiles: components["schemas"]["Arrived"];
        };
        /** @description A project that was imported, and how much of each it held. */
        ImportedProject: {
            projectId: string;
            displayName: string;
            sessions: number;
            versions: number;
            compositions: number;
            semanticMemories: number;
        };
        /** @description What was recalled, by id. */
        Included: {
            memories: number[];
            facts: number[];
            /** @description The newest summary that is in it; null where all it covers is shown. */
            summary: string | null;
            /** @description Whether the user's profile is in it; never without their consent. */
            profile: boolean;
            /** @description Ids of earlier messages, the most to the point first. */
            retrieved: string[];
        };
        /** @description How complete an app's indexes are. */
        IndexAnswer: {
            appId: string;
            /** @description Messages of users and assistants; others are not indexed. */
            messages: number;
            /** @description Of them, those whose words are indexed. */
            words: number;
            wordIndexPresent: boolean;
            /** @description Of them, those whose vectors are still to be made. */
            unembedded: number;
            vectors: components["schemas"]["VectorSetAnswer"][];
            backfill: components["schemas"]["ProgressAnswer"] | null;
            backfillAskedAt: string | null;
            backfillEndedAt: string | null;
        };
        /** @description Sizes in bytes. */
        IndexSizes: {
            messages: number;
            embeddings: number;
            /** @description Of the whole installation; null where one app was asked about. */
            words: number | null;
        };
        /** @description Installs an app. */
        InstallApp: {
            appId: string;
            name: string;
            /** @description The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does. */
            config?: {
                [key: string]: unknown;
            };
            /** @description Who answers its conversations: the loop, when a model is set, or the app itself. */
            answeredBy?: components["schemas"]["AnsweredBy"] | null;
            /** @description Whether a person approves each answer of the loop's before it is sent. */
            approveAnswers?: boolean | null;
            weight?: number | null;
            /** @description Whether what names no user (memories, facts, old messages) is recalled for every user of the app. */
            sharedMemory?: boolean | null;
            /** @description Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's. */
            timeZone?: string | null;
        };
        /** @description Asks for a token. */
        IssueToken: {
            /** @default  */
            label?: string;
            /** @description What it may do beside working with the app's data: tokens (issue and revoke them), uninstall, answers (who). */
            grants?: components["schemas"]["Grant"][];
            /** @description Whose own it is to be: it opens what is this user's in the app and nothing else, and has no grants. It goes when everything of theirs is erased. */
            userId?: string | null;
        };
        /** @description A new token; its text is shown this once and kept nowhere. */
        IssuedToken: {
            tokenId: string;
            appId: string;
            label: string;
            /** @description What it may do beside working with the app's data: tokens (issue and revoke them), uninstall, answers (who). */
            grants: components["schemas"]["Grant"][];
            /** @description Whose own it is; null: the app's. */
            userId: string | null;
            /** @description The token that issued it, with which it is revoked; null: an admin did. */
            parentId: string | null;
            /** Format: date-time */
            createdAt: string;
            revokedAt: string | null;
            /** @description The token; null when this answer is a repetition under an Idempotency-Key. */
            token: string | null;
        };
        /** @description A job. */
        JobAnswer: {
            jobId: string;
            /** @description One that is none of these is of another release. */
            kind: components["schemas"]["JobKind"] | string;
            appId: string | null;
            conversationId: string | null;
            state: components["schemas"]["JobState"];
            attempts: number;
            maxAttempts: number;
            /** @description Why it waits, was deferred, failed or was cancelled, or who did it in the model's stead. */
            reason: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            dueAt: string;
            /** @description What a deferred job waits for. */
            deferral: components["schemas"]["Deferral"] | null;
            deferredSince: string | null;
            /** @description When a deferred job may start, as far as can be told; else null. */
            expectedAt: string | null;
            startedAt: string | null;
            finishedAt: string | null;
            /** @description The trace of whatever asked for it; null where none was made. */
            traceId: string | null;
        };
        /** @description A call of a model, or of the built-in agent, that a job made. */
        JobCall: {
            /**
             * Format: date-time
             * @description When it ended.
             */
            at: string;
            kind: components["schemas"]["WorkKind"];
            model: string;
            outcome: components["schemas"]["CallOutcome"];
            promptTokens: number;
            completionTokens: number;
            /** @description Whether the tokens are reckoned here, as the provider did not say. */
            estimated: boolean;
            units: number;
        };
        /** @description A job and what it cost. */
        JobDetails: {
            jobId: string;
            /** @description One that is none of these is of another release. */
            kind: components["schemas"]["JobKind"] | string;
            appId: string | null;
            conversationId: string | null;
            state: components["schemas"]["JobState"];
            attempts: number;
            maxAttempts: number;
            /** @description Why it waits, was deferred, failed or was cancelled, or who did it in the model's stead. */
            reason: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            dueAt: string;
            /** @description What a deferred job waits for. */
            deferral: components["schemas"]["Deferral"] | null;
            deferredSince: string | null;
            /** @description When a deferred job may start, as far as can be told; else null. */
            expectedAt: string | null;
            startedAt: string | null;
            finishedAt: string | null;
            /** @description The trace of whatever asked for it; null where none was made. */
            traceId: string | null;
            /** @description Of all its attempts, the oldest first; those that were folded into sums are not among them. */
            calls: components["schemas"]["JobCall"][];
        };
        /**
         * @description Kinds of background work; a closed set, so it can label a metric.
         * @enum {string}
         */
        JobKind: "create_memory" | "extract_facts" | "summarise" | "embed_messages" | "index_messages" | "compress_session" | "compose_context" | "learn_from_sessions" | "end_conversation" | "deliver_webhook";
        /** @description Jobs, newest first. */
        JobList: {
            jobs: components["schemas"]["JobAnswer"][];
            cursor: string | null;
        };
        /**
         * @description Where a job stands.
         * @enum {string}
         */
        JobState: "pending" | "deferred" | "queued" | "running" | "retrying" | "done" | "nothing" | "dead" | "cancelled";
        /** @description What a person says of it. */
        JudgeMemory: {
            verdict?: components["schemas"]["SemanticVerdict"] | null;
            content?: string | null;
        };
        /** @description What decides whether marked parts survive, beside their weight, the ratio and the distance. */
        KeepitDecay: {
            /**
             * @default {
             *       "light": 0.1,
             *       "moderate": 0.3,
             *       "aggressive": 0.5
             *     }
             */
            compressionBase?: components["schemas"]["CompressionBase"];
            /**
             * @description From here on distance makes no more difference.
             * @default 10
             */
            maxSessionDistance?: number;
            /**
             * @description What weighs this much always survives.
             * @default 1
             */
            pinnedWeight?: number;
        };
        /**
         * @description What becomes of marked parts.
         * @enum {string}
         */
        KeepitMode: "decay" | "preserve-all" | "ignore";
        /** @description What became of marked parts. */
        KeepitStats: {
            preserved: number;
            summarized: number;
            /** @description How many there were of each weight. */
            weights: {
                [key: string]: number;
            };
        };
        /** @description A session that another project may find, be suggested and compose. */
        LinkItem: {
            linkId: string;
            sourceProject: string;
            sourceSession: string;
            targetProject: string;
            reason: string;
            linkedBy: string;
            /** Format: date-time */
            linkedAt: string;
        };
        /** @description A project's links, the oldest first. */
        LinkList: {
            links: components["schemas"]["LinkItem"][];
            cursor: string | null;
        };
        /** @description An app of a list. */
        ListedApp: {
            appId: string;
            name: string;
            /** @description The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does. */
            config: {
                [key: string]: unknown;
            };
            installed: boolean;
            /** @description Who answers its conversations: the loop, when a model is set, or the app itself. */
            answeredBy: components["schemas"]["AnsweredBy"];
            /** @description Whether a person approves each answer of the loop's before it is sent. */
            approveAnswers: boolean;
            /** @description The app's share of the work beside other apps'. */
            weight: number;
            /** @description Whether what names no user (memories, facts, old messages) is recalled for every user of the app. */
            sharedMemory: boolean;
            /** @description Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's. */
            timeZone: string | null;
            /** @description Units an app may spend in any 60 minutes. */
            hourlyBudget: number | null;
            /** @description Units an app may spend in any 24 hours. */
            dailyBudget: number | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            uninstalledAt: string | null;
            /** @description How much it holds; null where that was not asked for. */
            holds: components["schemas"]["AppHoldings"] | null;
        };
        /** @description The process answers. */
        Live: {
            /** @default live */
            status?: string;
        };
        /** @description A login that was made; its secret is shown this once and kept nowhere. */
        LoginMade: {
            /** @description The secret; null when this answer repeats one under an Idempotency-Key. */
            login: string | null;
            /** Format: date-time */
            endsAt: string;
        };
        /** @description Asks for a composition. */
        MakeComposition: {
            components: components["schemas"]["ComponentRequest"][];
            /** @description Never exceeded. */
            totalTokenBudget: number;
            /** @default equal */
            strategy?: components["schemas"]["AllocationStrategy"];
            /** @default both */
            outputFormat?: components["schemas"]["OutputFormat"];
            /** @default as-given */
            order?: components["schemas"]["ComponentOrder"];
            /** @description 1: versions must cover all there is now; 10: any version will do. */
            minFreshness?: number | null;
            /** @description Who compresses where that is needed. */
            model?: string | null;
            /** @description Unique in its project; also its folder's name. */
            name: string;
            /**
             * @description Whether one of that name makes way; it is removed at once.
             * @default false
             */
            replace?: boolean;
        };
        /** @description Links a session of another project of the same app. */
        MakeLink: {
            sourceProject: string;
            sourceSession: string;
            reason: string;
        };
        /** @description Asks for a version; what is left out is as the project says. */
        MakeVersion: {
            /** @default tiered */
            mode?: components["schemas"]["CompressionMode"];
            /** @description Of the uniform mode; 10 unless said. */
            compactionRatio?: number | null;
            /** @description Of the uniform mode; by the ratio unless said. */
            aggressiveness?: components["schemas"]["Aggressiveness"] | null;
            /** @description Of the tiered mode; standard unless said. */
            tierPreset?: components["schemas"]["TierPreset"] | null;
            /** @description Ascending, the last ends at 100. */
            customTiers?: components["schemas"]["Tier"][] | null;
            /** @description Who compresses: `extractive`, or the model of the settings; that unless said. */
            model?: string | null;
            /**
             * @description Messages at the beginning to leave out.
             * @default 0
             */
            skipFirstMessages?: number;
            /** @default decay */
            keepitMode?: components["schemas"]["KeepitMode"];
            /**
             * @description 1: the latest session; 10 and more: an old one.
             * @default 1
             */
            sessionDistance?: number;
            /** @description What is left out is as the project says. */
            decay?: components["schemas"]["KeepitDecay"] | null;
            /** @description The version to make it from; the original unless said. */
            sourceVersion?: string | null;
            /**
             * @description Kept with the version.
             * @default
             */
            reason?: string;
            /**
             * @description Only say what would come of it.
             * @default false
             */
            dryRun?: boolean;
        };
        /** @description What would become of a marked part. */
        MarkerForeseen: {
            markerId: string;
            weight: number;
            survives: boolean;
        };
        /** @description A marked part, where it stands in its message. */
        MarkerInMessage: {
            markerId: string;
            /** @description The weight in force. */
            weight: number;
            writtenWeight: number;
            /** @description Where the marker begins in the whole message, characters. */
            start: number;
            /** @description Where what it marks begins. */
            contentStart: number;
            /** @description Where what it marks ends. */
            end: number;
        };
        /** @description A marked part of a message. */
        MarkerItem: {
            markerId: string;
            messageUuid: string;
            /** @description The weight in force. */
            weight: number;
            /** @description What the message says. */
            writtenWeight: number;
            /** @description Who put another weight in its place. */
            overriddenBy: string | null;
            overriddenAt: string | null;
            content: string;
            position: components["schemas"]["Position"];
            /** @description What stands around it, with `[...]` in its place. */
            context: string;
            /** @description What stands before the marker in its message, its last 80 characters. */
            before: string;
            /** @description What stands behind the marked part in its message, its first 80 characters. */
            after: string;
            createdAt: string | null;
            /** @description Versions that hold it word for word. */
            survivedIn: string[];
            summarizedIn: string[];
        };
        /** @description A session's marked parts, in their order. */
        MarkerList: {
            sessionId: string;
            keepits: components["schemas"]["MarkerItem"][];
            /** @description What looks like a marker and is not well written. */
            problems: components["schemas"]["MarkerProblemItem"][];
            cursor: string | null;
        };
        /** @description Something written like a marker that is none, or not as it is written. */
        MarkerProblemItem: {
            messageUuid: string;
            written: string;
            reason: string;
        };
        /** @description A marked part that one version holds word for word. */
        MarkerSurvival: {
            markerId: string;
            weight: number;
            content: string;
        };
        /** @description A memory. */
        MemoryAnswer: {
            id: number;
            /** @description Whose it is; null where nobody was named. */
            userId: string | null;
            content: string;
            /**
             * Format: date-time
             * @description When its conversation was held.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When the newest of it was said, or a person last changed it.
             */
            updatedAt: string;
            /**
             * Format: date
             * @description The day of updatedAt where its user is.
             */
            updatedOn: string;
            sourceConversationId: string | null;
            importance: number;
            tags: string[];
            pinned: boolean;
            /** @description Who wrote the present text: extractive, a model, admin or a token. */
            agent: string;
            version: number;
            sources: components["schemas"]["Source"][];
        };
        /** @description How room was made at the cap. */
        MemoryEviction: {
            memoryId: number;
            outcome: components["schemas"]["CompactionOutcome"];
            reason: string;
        };
        /** @description Memories, last updated first. */
        MemoryList: {
            memories: components["schemas"]["MemoryAnswer"][];
            /** @description Most memories a user may have; what names nobody counts as one user's. */
            cap: number;
            cursor?: string | null;
        };
        /**
         * @description What a conversation has to do with memory; each is stricter than the one before.
         * @enum {string}
         */
        MemoryMode: "on" | "read" | "off";
        /** @description Messages by position: as they were sent, with messageId, position, createdAt and, where known, tokens, offset. */
        MessageList: {
            messages: ({
                /** @enum {string} */
                role: "user" | "assistant" | "system" | "developer" | "tool" | "function";
                /** @description Text, parts (text, image_url, tool_use, tool_result and others), or null beside tool_calls. */
                content?: string | {
                    [key: string]: unknown;
                }[] | null;
                name?: string | null;
                /** @description The calls an assistant makes. */
                tool_calls?: {
                    [key: string]: unknown;
                }[] | null;
                /** @description Of the call this is the result of. */
                tool_call_id?: string | null;
                /** @description What tool_calls replaced. */
                function_call?: {
                    [key: string]: unknown;
                } | null;
                refusal?: string | null;
                audio?: {
                    [key: string]: unknown;
                } | null;
                annotations?: {
                    [key: string]: unknown;
                }[] | null;
                reasoning?: unknown;
                reasoning_content?: unknown;
                reasoning_details?: unknown;
                thinking?: unknown;
                thinking_blocks?: unknown;
                images?: unknown[] | null;
                parsed?: unknown;
                tool_name?: string | null;
                cache_control?: unknown;
                provider_specific_fields?: unknown;
            } & {
                [key: string]: unknown;
            })[];
            cursor: string | null;
        };
        /** @description A version. */
        NamedVersion: {
            sessionId: string;
            versionId: string;
        };
        /** @description What one of two versions has and the other lacks. */
        OnlyIn: {
            /** @description How many pieces of each kind stand nowhere in the other. */
            blocks: {
                [key: string]: number;
            };
            /** @description Marked parts that survived here and not in the other. */
            markers: components["schemas"]["MarkerSurvival"][];
        };
        /** @description A working folder whose sessions are to be registered. */
        OpenProject: {
            /** @description The folder that was worked in; it need not be on this machine. */
            originalPath: string;
            displayName?: string | null;
            /** @description A folder of transcripts; only an admin may name one. */
            sourceFolder?: string | null;
            settings?: components["schemas"]["ChangeProjectSettings"];
        };
        /** @description What was said or done at one point of a session; a long one comes in pieces, on several pages. */
        OriginalMessage: {
            /** @description Its place in the session, from 0; the same for all pieces of one message. */
            position: number;
            /** @description Of its record; several messages may be of one record. */
            uuid: string;
            speaker: string;
            /** @description human, assistant, question, thinking, tool_use, tool_result, meta, left, system, summary. */
            kind: string;
            at: string | null;
            /** @description Of a tool's use what it was given, as JSON; of its result what came back. */
            text: string;
            /** @description Where this text begins in the whole message, characters; 0 but for later pieces. */
            start: number;
            /** @description Of the whole message. */
            characters: number;
            /** @description Of a call and of its result. */
            tool: string | null;
            /** @description What a use of a tool and its result share. */
            toolUseId: string | null;
            isError: boolean;
            markers: components["schemas"]["MarkerInMessage"][];
            /** @description How much of it the version holds that was asked about: whole, part, none. */
            held: components["schemas"]["Held"] | null;
        };
        /** @description Messages of an original, in their order. */
        OriginalPage: {
            sessionId: string;
            messages: components["schemas"]["OriginalMessage"][];
            cursor: string | null;
        };
        /**
         * @description Which documents are written.
         * @enum {string}
         */
        OutputFormat: "markdown" | "jsonl" | "both";
        /**
         * @description Where what is recalled stands: in two messages, or in one before all others.
         * @enum {string}
         */
        Placement: "two" | "one";
        /** @description What a run did, or would do. */
        PlanAnswer: {
            /** Format: date-time */
            at: string;
            dryRun: boolean;
            by: string;
            /** @description compress, remove, keep; each entry with its reason, and counts of all. */
            plan: {
                [key: string]: unknown;
            };
        };
        /** @description Where a marked part stands in its message, in characters. */
        Position: {
            /** @description Where the marker itself begins. */
            start: number;
            /** @description Where what it marks ends. */
            end: number;
        };
        /** @description How a user wants things done. */
        Preferences: {
            codingStyle?: string | null;
            /** @default [] */
            preferredLanguages?: string[];
            /** @default [] */
            frameworkExperience?: string[];
        };
        /** @description A compression to look ahead to. */
        PreviewDecay: {
            sessionId: string;
            compressionRatio: number;
            aggressiveness: components["schemas"]["DecayLevel"];
            sessionDistance: number;
        };
        /** @description A user's profile, if they agree to having one. */
        ProfileAnswer: {
            appId: string;
            userId: string;
            consent: boolean;
            /** @description null without consent, and before anything was written. */
            profile: components["schemas"]["ProfileItem"] | null;
        };
        /** @description What a user agreed to have kept. */
        ProfileItem: {
            /**
             * @default {
             *       "preferredLanguages": [],
             *       "frameworkExperience": []
             *     }
             */
            preferences?: components["schemas"]["Preferences"];
            /** @default {} */
            context?: components["schemas"]["Context"];
            /** @default  */
            freeformNotes?: string;
            version: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        /** @description How far a job has come, in parts; both are 0 while it is not known how many there are. */
        Progress: {
            done: number;
            total: number;
        };
        /** @description How far something has come, in messages. */
        ProgressAnswer: {
            done: number;
            total: number;
        };
        /** @description A project with its sessions. */
        ProjectDetail: {
            projectId: string;
            originalPath: string;
            displayName: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            lastAccessed: string;
            /** Format: date-time */
            lastModified: string;
            sessions: number;
            /** @description What is in force. */
            settings: components["schemas"]["ProjectSettings"];
            /** @description What the project says itself; the rest is as its app says. */
            ownSettings: {
                [key: string]: unknown;
            };
            sourceFolder: string | null;
            scannedAt: string | null;
            /** @description Files of its folder that could not be taken in. */
            refusedFiles: components["schemas"]["RefusedFile"][];
            storage: components["schemas"]["StorageFigures"];
            /** @description The first of its sessions; its cursor goes on under /api/memory/projects/PROJECT/sessions. */
            sessionList: components["schemas"]["SessionList"];
        };
        /** @description A project. */
        ProjectItem: {
            projectId: string;
            originalPath: string;
            displayName: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            lastAccessed: string;
            /** Format: date-time */
            lastModified: string;
            sessions: number;
            /** @description What is in force. */
            settings: components["schemas"]["ProjectSettings"];
            /** @description What the project says itself; the rest is as its app says. */
            ownSettings: {
                [key: string]: unknown;
            };
            sourceFolder: string | null;
            scannedAt: string | null;
            /** @description Files of its folder that could not be taken in. */
            refusedFiles: components["schemas"]["RefusedFile"][];
        };
        /** @description Projects, newest first. */
        ProjectList: {
            projects: components["schemas"]["ProjectItem"][];
            cursor: string | null;
        };
        /** @description What holds for all sessions of a project. */
        ProjectSettings: {
            /** @default standard */
            defaultCompressionPreset?: components["schemas"]["TierPreset"];
            /**
             * @description Whether its folder is looked through for sessions.
             * @default false
             */
            autoRegisterNewSessions?: boolean;
            /** @default true */
            keepitDecayEnabled?: boolean;
            /** @description Who compresses; null: what is set up. */
            model?: string | null;
            /** @default all */
            compressionRetention?: string | number;
            /**
             * @default {
             *       "compressionBase": {
             *         "aggressive": 0.5,
             *         "light": 0.1,
             *         "moderate": 0.3
             *       },
             *       "maxSessionDistance": 10,
             *       "pinnedWeight": 1
             *     }
             */
            keepitDecay?: components["schemas"]["KeepitDecay"];
        };
        /** @description Removes versions: those named, or those that meet all the rules given. */
        PruneVersions: {
            /**
             * @description Never used, in any composition or otherwise.
             * @default false
             */
            unused?: boolean;
            /**
             * @description A newer one was made with the same settings of the same, and of no less.
             * @default false
             */
            superseded?: boolean;
            /** @description Neither made nor used since. */
            olderThanDays?: number | null;
            /** @description Only versions of these; of all where none is named. */
            sessionIds?: string[];
            /**
             * @description Only says what would go.
             * @default true
             */
            dryRun?: boolean;
            /** @description These, instead of rules; one that is in use is refused. */
            versions?: components["schemas"]["NamedVersion"][] | null;
        };
        /** @description What went, or would go. */
        Pruned: {
            dryRun: boolean;
            /** @description What went; of a dry run, what would. */
            removed: components["schemas"]["VersionDecision"][];
            /** @description What meets the rules and stays, and why. */
            kept: components["schemas"]["VersionDecision"][];
            /** @description Of what went. */
            tokens: number;
            warnings: string[];
        };
        /** @description What a purge of memories did, and what it does not reach. */
        PurgedMemories: {
            /** @default true */
            success?: boolean;
            deletedCount: number;
            receipt: components["schemas"]["Receipt"];
            /** @description What is left to do, where something is. */
            note?: string | null;
            stillRemembered: components["schemas"]["StillRemembered"];
        };
        /**
         * @description How results are ranked.
         * @enum {string}
         */
        RankingFormula: "signals" | "weighted";
        /** @description Whether the loop can serve, and why not. */
        Ready: {
            ready: boolean;
            version: string;
            /** @description Who writes memories: extractive, or the model. */
            agent: string;
            dependencies: {
                [key: string]: components["schemas"]["Dependency"];
            };
        };
        /** @description The word index was made anew, empty; its apps are being filled in. */
        Rebuilt: {
            apps: number;
        };
        /** @description What was erased, and for each store that was checked, what is left there. */
        Receipt: {
            receiptId: string;
            appId: string;
            scope: string;
            /** @description Whose; null where it was about the whole app, or about nobody. */
            userId: string | null;
            actor: string;
            /** Format: date-time */
            at: string;
            /** @description Store by store what was erased. idempotencyKeys are remembered answers of the whole app, as nobody can tell whose words one holds. */
            erased: {
                [key: string]: number;
            };
            /** @description Store by store what is left; null: it could not be looked at. databaseLog is 1 while deleted text may still stand in the database's own log. */
            left: {
                [key: string]: number | null;
            };
        };
        /** @description An app's receipts, newest first. */
        ReceiptList: {
            erasures: components["schemas"]["Receipt"][];
            cursor: string | null;
        };
        /** @description A file that was not taken in. */
        RefusedFile: {
            file: string;
            reason: string;
        };
        /** @description Refuses an answer; the loop is told the reason when it thinks again. */
        RejectAnswer: {
            reason?: string | null;
        };
        /** @description Whether a release may go out by what was measured: each way with at least 20 queries fast enough. */
        ReleaseGateAnswer: {
            passes: boolean;
            /** @description fails when anything does; not_enough_queries when no way has 20 queries. */
            state: components["schemas"]["GateVerdict"];
            ways: {
                [key: string]: components["schemas"]["WayAtGate"];
            };
            summariesAsked: number;
            summariesMade: number;
            /** @description not_enough_queries when none was asked for. */
            summariesState: components["schemas"]["GateVerdict"];
        };
        /** @description What one round came to; ask again with the cursor until it is null. */
        ReplayAnswer: {
            /** @description By kind, the dead letters that this round and later ones are for. */
            matching: {
                [key: string]: number;
            };
            replayed: number;
            /** @description Stay dead: what they were about was purged or erased, or they never became jobs. */
            refused: number;
            /** @description For later rounds. */
            left: number;
            cursor: string | null;
        };
        /** @description Which dead letters to run again; without any field, all there are. */
        ReplayJobs: {
            appId?: string | null;
            kind?: components["schemas"]["JobKind"] | null;
            /** @description Part of their reason, in any case of letters. */
            reason?: string | null;
            /**
             * @description Only count them.
             * @default false
             */
            dryRun?: boolean;
            /** @description Goes on where a former round ended. */
            cursor?: string | null;
        };
        /** @description The job of a conversation that was asked for. */
        RequestedJob: {
            conversationId: string;
            job: components["schemas"]["JobAnswer"];
        };
        /** @description The job that learns. */
        RequestedLearning: {
            projectId: string;
            job: components["schemas"]["JobAnswer"];
        };
        /** @description Takes back a change, the latest unless one is named. */
        RestoreMemory: {
            changeId?: number | null;
        };
        /** @description Clearing was taken back. */
        RestoredFacts: {
            /** @default true */
            success?: boolean;
            restoredCount: number;
        };
        /** @description A memory after a change was taken back, and what went for it. */
        RestoredMemory: {
            /** @default true */
            success?: boolean;
            memory: components["schemas"]["MemoryAnswer"];
            madeRoom: components["schemas"]["MemoryEviction"][];
        };
        /** @description How many versions of a session are kept, or for how long; never applied to what is in use or the only one. */
        Retention: {
            /** @default all */
            keep?: components["schemas"]["RetentionMode"];
            /** @description With `newest`: how many. */
            count?: number | null;
            /** @description With `days`: since they were made or last used. */
            days?: number | null;
        };
        /**
         * @description Which versions of a session stay.
         * @enum {string}
         */
        RetentionMode: "all" | "newest" | "days";
        /** @description What the retrievals of a period amount to. */
        RetrievalMetrics: {
            /** @description Null: of all apps. */
            appId: string | null;
            /** Format: date-time */
            since: string;
            retrievals: number;
            /** @description Share that found something, 0..1. */
            hitRate: number | null;
            meanTopScore: number | null;
            /** @description Cosines of the three results most like each question: the mean of the best, the second, the third. */
            meanTopSimilarities: number[];
            /** @description By stage: totalMs, embedMs, ftsMs, denseMs, rerankMs. */
            durations: {
                [key: string]: components["schemas"]["Durations"];
            };
            /** @description Results by what brought them: conversationDense, globalDense, ftsLexical, summaries, profile; one may count more than once. */
            sources: {
                [key: string]: number;
            };
            /** @description Share of retrievals with each flag on, 0..1. */
            flags: {
                [key: string]: number;
            };
            /** @description Retrievals that did without a part. */
            degraded: {
                [key: string]: number;
            };
            /** @description Mean share of the budget that contexts used, 0..1. */
            tokenBudgetUsed: number | null;
            gate: components["schemas"]["ReleaseGateAnswer"];
        };
        /** @description How much there is to retrieve. */
        RetrievalStats: {
            appId: string | null;
            totalMessages: number;
            totalConversations: number;
            totalChunks: number;
            totalSummaries: number;
            totalVectors: number;
            /** @description Of the user asked about; null where no app was named. */
            profileConsent: boolean | null;
            indexSizes: components["schemas"]["IndexSizes"];
        };
        /**
         * @description What may be done with what a token opens.
         * @enum {string}
         */
        Rights: "all" | "read" | "metrics";
        /**
         * @description Who speaks.
         * @enum {string}
         */
        Role: "user" | "assistant" | "system" | "tool";
        /** @description Ages a project now. */
        RunAgeing: {
            /**
             * @description Only writes the plan down; rules that changed must be run so first.
             * @default true
             */
            dryRun?: boolean;
        };
        /** @description What became of the files of a folder. */
        ScanAnswer: {
            projectId: string;
            registered: string[];
            synced: string[];
            unchanged: number;
            /** @description These are tried again once they change. */
            refused: components["schemas"]["RefusedFile"][];
            /** @description Files that were not looked at yet; ask again. */
            left: number;
            /** @description Of a dry run: what is not registered yet, and would be. */
            foreseen?: components["schemas"]["SessionForeseen"][];
            /** @description Of a dry run: goes on with the files that were not looked at. */
            cursor?: string | null;
        };
        /** @description A fact with its score; of each user the highest goes first. */
        ScoredFactItem: {
            id: number;
            userId: string | null;
            fact: string;
            category: components["schemas"]["Category"];
            confidence: number;
            /** Format: date-time */
            lastSeen: string;
            score: number;
            goes: boolean;
            /** Format: date-time */
            expiresAt: string;
        };
        /** @description What was found, best first. */
        SearchAnswer: {
            results: components["schemas"]["SearchResult"][];
            /** @description Whether other conversations than the one named were looked in. */
            widened: boolean;
            /** @description Parts that had to be done without: words, vectors (none are made yet), embedding (of the query). */
            degraded: string[];
        };
        /** @description Narrows a search; what is left out narrows nothing, and a list that is given must name something. */
        SearchFilters: {
            /** @description Of user and assistant: what systems and tools said is never a result. */
            roles?: components["schemas"]["Role"][] | null;
            /** @description Speakers, as your app named them. */
            names?: string[] | null;
            /** @description Results were said at this time or later. */
            since?: string | null;
            /** @description Results were said before this time. */
            until?: string | null;
            /** @description Only these conversations; an id that is not known finds nothing. */
            conversationIds?: string[] | null;
            /** @description Whole messages, or passages of long ones: prose, code. */
            kinds?: components["schemas"]["HitKind"][] | null;
            /** @description Tags under metadata.tags of the conversation; it must have all of them. */
            tags?: string[] | null;
        };
        /**
         * @description How a retrieval searched: by vectors alone, by words too, or in passages as well.
         * @enum {string}
         */
        SearchMode: "dense" | "hybrid" | "chunked";
        /** @description A message, or a passage of one. */
        SearchResult: {
            messageId: string;
            conversationId: string;
            /** @description Whose conversation it is; null where it names nobody. */
            userId: string | null;
            role: components["schemas"]["Role"];
            name: string | null;
            content: string;
            /** Format: date-time */
            createdAt: string;
            score: number;
            kind: components["schemas"]["HitKind"];
            /** @description Which passage of the message; 0 is the whole. */
            part: number;
            /** @description Of code, where its fence names it. */
            language: string | null;
            /** @description How often the same was said by the same speaker; this is the one that fits best. */
            times: number;
            /**
             * Format: date-time
             * @description When it was said last.
             */
            lastAt: string;
            /** @description What each signal added to the score. */
            explanation?: {
                [key: string]: number;
            } | null;
        };
        /** @description What sessions of a project have in common, or one of them laid down. */
        SemanticItem: {
            id: string;
            type: components["schemas"]["SemanticKind"];
            content: string;
            /** @description 0..1; rises with the sessions that bear it. */
            confidence: number;
            verdict: components["schemas"]["SemanticVerdict"];
            /** @description Whether a person confirmed it. */
            validatedByUser: boolean;
            decidedBy: string | null;
            decidedAt: string | null;
            agent: string;
            sources: components["schemas"]["SemanticSourceItem"][];
            /** Format: date-time */
            extractedAt: string;
        };
        /**
         * @description What a semantic memory is about.
         * @enum {string}
         */
        SemanticKind: "pattern" | "decision" | "preference" | "fact";
        /** @description A project's semantic memories, newest first. */
        SemanticList: {
            memories: components["schemas"]["SemanticItem"][];
            /** @description Sessions that were learnt from as they are now. */
            sessionsLearnt: number;
            sessions: number;
            cursor: string | null;
        };
        /** @description Where it was found. */
        SemanticSourceItem: {
            sessionId: string;
            messageUuid: string;
            excerpt: string;
        };
        /**
         * @description What a person said of a semantic memory.
         * @enum {string}
         */
        SemanticVerdict: "proposed" | "confirmed" | "rejected";
        /** @description What was done to a project, newest first. */
        SessionChangeList: {
            changes: components["schemas"]["ChangeLine"][];
            cursor: string | null;
        };
        /** @description A registered session with the files it touched most. */
        SessionDetail: {
            sessionId: string;
            projectId: string;
            /** @description Where it is from; null for an upload. */
            originalFile: string | null;
            /** @description Without a last line that is still being written. */
            sizeBytes: number;
            /** @description Of those bytes of the original. */
            sha256: string;
            originalTokens: number;
            originalMessages: number;
            firstTimestamp: string | null;
            lastTimestamp: string | null;
            /** @description Title, how the first prompt begins, branch, version, folder, models, topics. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description Lines, prompts, messages, tool uses, tokens by usage, oddities. */
            counts: {
                [key: string]: number;
            };
            markers: number;
            markerProblems: components["schemas"]["MarkerProblemItem"][];
            /** Format: date-time */
            registeredAt: string;
            /** Format: date-time */
            syncedAt: string;
            /** Format: date-time */
            lastAccessed: string;
            /** @description When it was last used: composed, handed out as a version, read; null before. */
            usedAt: string | null;
            versions: number;
            files: components["schemas"]["TouchedFileItem"][];
            storage: components["schemas"]["StorageFigures"];
        };
        /** @description What a transcript would be registered as; nothing was written. */
        SessionForeseen: {
            sessionId: string;
            projectId: string;
            /** @description Where it is from; null for an upload. */
            originalFile: string | null;
            /** @description Without a last line that is still being written. */
            sizeBytes: number;
            /** @description Of those bytes of the original. */
            sha256: string;
            originalTokens: number;
            originalMessages: number;
            firstTimestamp: string | null;
            lastTimestamp: string | null;
            /** @description Title, how the first prompt begins, branch, version, folder, models, topics. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description Lines, prompts, messages, tool uses, tokens by usage, oddities. */
            counts: {
                [key: string]: number;
            };
            markers: number;
            markerProblems: components["schemas"]["MarkerProblemItem"][];
            /** @description How many markers there are of each weight, the heaviest first. */
            markerWeights: {
                [key: string]: number;
            };
        };
        /**
         * @description Where something may be found.
         * @enum {string}
         */
        SessionHitKind: "original" | "version";
        /** @description A registered session. */
        SessionItem: {
            sessionId: string;
            projectId: string;
            /** @description Where it is from; null for an upload. */
            originalFile: string | null;
            /** @description Without a last line that is still being written. */
            sizeBytes: number;
            /** @description Of those bytes of the original. */
            sha256: string;
            originalTokens: number;
            originalMessages: number;
            firstTimestamp: string | null;
            lastTimestamp: string | null;
            /** @description Title, how the first prompt begins, branch, version, folder, models, topics. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description Lines, prompts, messages, tool uses, tokens by usage, oddities. */
            counts: {
                [key: string]: number;
            };
            markers: number;
            markerProblems: components["schemas"]["MarkerProblemItem"][];
            /** Format: date-time */
            registeredAt: string;
            /** Format: date-time */
            syncedAt: string;
            /** Format: date-time */
            lastAccessed: string;
            /** @description When it was last used: composed, handed out as a version, read; null before. */
            usedAt: string | null;
            versions: number;
        };
        /** @description A job about recorded sessions. */
        SessionJobAnswer: {
            jobId: string;
            /** @description One that is none of these is of another release. */
            kind: components["schemas"]["JobKind"] | string;
            appId: string | null;
            conversationId: string | null;
            state: components["schemas"]["JobState"];
            attempts: number;
            maxAttempts: number;
            /** @description Why it waits, was deferred, failed or was cancelled, or who did it in the model's stead. */
            reason: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            dueAt: string;
            /** @description What a deferred job waits for. */
            deferral: components["schemas"]["Deferral"] | null;
            deferredSince: string | null;
            /** @description When a deferred job may start, as far as can be told; else null. */
            expectedAt: string | null;
            startedAt: string | null;
            finishedAt: string | null;
            /** @description The trace of whatever asked for it; null where none was made. */
            traceId: string | null;
            sessionId?: string | null;
            versionId?: string | null;
            compositionId?: string | null;
            progress: components["schemas"]["Progress"];
        };
        /** @description Jobs about recorded sessions, newest first. */
        SessionJobList: {
            jobs: components["schemas"]["SessionJobAnswer"][];
            cursor: string | null;
        };
        /** @description Sessions, in the order that was asked for. */
        SessionList: {
            sessions: components["schemas"]["SessionItem"][];
            cursor: string | null;
        };
        /** @description Why it was found. */
        SessionSnippet: {
            text: string;
            /** @description Where found words begin and end in the text, characters. */
            marks: [
                number,
                number
            ][];
            /** @description What it is part of: human, assistant, tool_use, keepit, ... */
            kind: string;
            messageUuid: string | null;
            saidAt: string | null;
        };
        /** @description What holds for all sessions of an app, in the groups and names of ``config.json``. */
        SessionsConfiguration: {
            /**
             * @default {
             *       "maxCacheSize": "1GB",
             *       "compressionRetention": "all"
             *     }
             */
            storage?: components["schemas"]["StorageConfiguration"];
            /**
             * @default {
             *       "compressionPreset": "standard",
             *       "keepitDecayEnabled": true,
             *       "autoRegisterSessions": false,
             *       "model": "extractive"
             *     }
             */
            defaults?: components["schemas"]["DefaultsConfiguration"];
            /**
             * @default {
             *       "compressionBase": {
             *         "aggressive": 0.5,
             *         "light": 0.1,
             *         "moderate": 0.3
             *       },
             *       "maxSessionDistance": 10,
             *       "pinnedWeight": 1
             *     }
             */
            keepitDecay?: components["schemas"]["KeepitDecay"];
            /**
             * @default {
             *       "defaultView": "timeline",
             *       "showTokenEstimates": true,
             *       "confirmDestructiveActions": true
             *     }
             */
            ui?: components["schemas"]["BrowserConfiguration"];
        };
        /**
         * @description Where a set of vectors stands.
         * @enum {string}
         */
        SetState: "serving" | "filling" | "retired";
        /** @description What a table takes. */
        SizeOfTable: {
            table: string;
            /** @description An estimate on PostgreSQL; null for the word index. */
            rows: number | null;
            /** @description With its indexes; null where SQLite was built without dbstat. */
            sizeBytes: number | null;
            /** @description When its first row was written, where rows have a time. */
            oldest: string | null;
        };
        /** @description Hides a conversation for a while. */
        SnoozeConversation: {
            minutes: number;
        };
        /** @description A conversation whose words stand in a memory. */
        Source: {
            conversationId: string;
            messageIds: string[];
        };
        /** @description Opens a conversation. */
        StartConversation: {
            conversationId?: string | null;
            userId?: string | null;
            energyBudget?: number | null;
            metadata?: {
                [key: string]: unknown;
            };
            /** @description It ends by itself once nothing was said for so long; without it, only when it is told to. */
            endAfterMinutes?: number | null;
            /** @description Whose days are meant in it, an IANA name; without it the user's, or what its messages came with. */
            timeZone?: string | null;
            /**
             * @description on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither.
             * @default on
             */
            memory?: components["schemas"]["MemoryMode"];
        };
        /**
         * @description How much is left, in a word.
         * @enum {string}
         */
        Status: "high" | "medium" | "low" | "urgent";
        /** @description What remembers after a purge of memories, and how to erase it. */
        StillRemembered: {
            facts: number;
            messages: number;
            summaries: number;
            howToErase: string;
        };
        /** @description What the database holds. */
        Storage: {
            sizeBytes: number;
            /** @description The largest first. */
            tables: components["schemas"]["SizeOfTable"][];
        };
        /** @description What is kept, and how much. */
        StorageConfiguration: {
            /**
             * @description Of uploads and archives under way.
             * @default 1GB
             */
            maxCacheSize?: string | number;
            /**
             * @description `all`, so many newest versions of a session, or `30 days`.
             * @default all
             */
            compressionRetention?: string | number;
        };
        /** @description What is in the store, in bytes on its disk. */
        StorageFigures: {
            /** @description Of the copies of originals. */
            originalBytes: number;
            versions: number;
            versionBytes: number;
            /** @description Of a session: those that use it. */
            compositions: number;
            /** @description null for a session, since a composition is made of several. */
            compositionBytes: number | null;
        };
        /** @description Where a message stands in its conversation; positions count from 0. */
        StoredMessage: {
            messageId: string;
            position: number;
            role: string;
            /** Format: date-time */
            createdAt: string;
        };
        /** @description One entry for each message that was sent. */
        StoredMessages: {
            conversationId: string;
            messages: components["schemas"]["StoredMessage"][];
        };
        /** @description It was done. */
        Success: {
            /** @default true */
            success?: boolean;
        };
        /** @description A session that may help, in the form that fits. */
        SuggestedSession: {
            sessionId: string;
            projectId: string;
            /** @description A version, `original`, or None: one would have to be made. */
            versionId: string | null;
            relevanceScore: number;
            /** @description What each part adds to the relevance. */
            parts: {
                [key: string]: number;
            };
            matchedTopics: string[];
            matchedFiles: string[];
            suggestedTokens: number;
            /** @description As POST …/compositions takes it among its components. */
            component: components["schemas"]["ComponentRequest"];
        };
        /** @description What may help, the most relevant first; together they never take more than the budget. */
        Suggestions: {
            suggestions: components["schemas"]["SuggestedSession"][];
            suggestedTokens: number;
            tokenBudget: number;
        };
        /** @description Bullets over a part of a conversation. */
        SummaryItem: {
            summaryId: string;
            content: string;
            tokens: number;
            /** @description Who wrote it: `extractive`, or the model. */
            agent: string;
            /** @description The first message it covers, counted from 0. */
            fromPosition: number;
            /** @description The last message it covers. */
            toPosition: number;
            /** @description Whether it has its vector yet. */
            embedded: boolean;
            /** Format: date-time */
            createdAt: string;
        };
        /** @description A conversation's summaries, newest first. */
        SummaryList: {
            conversationId: string;
            summaries: components["schemas"]["SummaryItem"][];
            /** @description How many messages from the beginning they cover. */
            summarised: number;
            /** @description Messages of the assistant since the last one. */
            turnsSinceSummary: number;
            cursor: string | null;
        };
        /** @description Something on or off, in force. */
        Switch: {
            value: boolean;
            /** @description What it comes from: the settings, a change for all apps, or one for this app. */
            source: components["schemas"]["TuningSource"];
        };
        /** @description What a sync took in. */
        Synced: {
            session: components["schemas"]["SessionItem"];
            addedBytes: number;
        };
        /** @description A piece that stands in one of the versions only, or elsewhere in the other. */
        TextDifference: {
            /** @description The version's id. */
            isIn: string;
            /** @description Its place among that version's pieces, from 0. */
            position: number;
            speaker: string;
            kind: string;
            at: string | null;
            /** @description Its first 1,000 characters. */
            text: string;
            /** @description Of all of it. */
            characters: number;
        };
        /** @description A part of a session and how it is compressed. */
        Tier: {
            /** @description Where it ends, per cent of the session. */
            endPercent: number;
            compactionRatio: number;
            aggressiveness: components["schemas"]["Aggressiveness"];
        };
        /**
         * @description Tiers that have a name.
         * @enum {string}
         */
        TierPreset: "gentle" | "standard" | "aggressive" | "custom";
        /** @description A token, without the token itself. */
        TokenAnswer: {
            tokenId: string;
            appId: string;
            label: string;
            /** @description What it may do beside working with the app's data: tokens (issue and revoke them), uninstall, answers (who). */
            grants: components["schemas"]["Grant"][];
            /** @description Whose own it is; null: the app's. */
            userId: string | null;
            /** @description The token that issued it, with which it is revoked; null: an admin did. */
            parentId: string | null;
            /** Format: date-time */
            createdAt: string;
            revokedAt: string | null;
        };
        /** @description An app's tokens, oldest first. */
        TokenList: {
            tokens: components["schemas"]["TokenAnswer"][];
            cursor: string | null;
        };
        /** @description What the token of a request opens. */
        TokenRights: {
            /** @description Recorded with every change: admin, reader, or token: and its id. */
            name: string;
            /** @description The only app it opens; null: all of them. */
            appId: string | null;
            /** @description Whose own it is: it opens what is theirs in the app; null: nobody's. */
            userId: string | null;
            /** @description all, or read. */
            rights: components["schemas"]["Rights"];
            /** @description What it may do beside working with data: issue and revoke tokens, uninstall the app, change who answers. An admin's that may do all has them all. */
            grants: components["schemas"]["Grant"][];
        };
        /**
         * @description Where a figure comes from, the best first.
         * @enum {string}
         */
        TokenSource: "provider" | "calibrated" | "estimated";
        /** @description A file that a session touched. */
        TouchedFileItem: {
            path: string;
            touches: number;
            /** @description Whether it was written, not only read. */
            changed: boolean;
        };
        /**
         * @description What to change for all apps. What is left out stays as it is; null takes a change back.
         *
         *     A weight that is given selects the formula weighted, unless a formula is given too.
         */
        TuneAll: {
            /** @description Whether words are searched beside vectors. null takes the change back. */
            hybrid?: boolean | null;
            /** @description Whether long messages are searched and handed out in passages. null takes the change back. */
            chunking?: boolean | null;
            /** @description Most tokens of retrieved messages in a context (100 to 5000). null takes the change back. */
            tokenBudget?: number | null;
            /** @description Messages of the assistant after which a conversation is summarised; 0: only on demand (0 to 100). null takes the change back. */
            summaryFrequency?: number | null;
            /** @description How results are ranked: by several signals, or by the weighted sum of the next three. null takes the change back. */
            formula?: components["schemas"]["RankingFormula"] | null;
            /** @description Weight of the vectors' likeness in the weighted sum; the three weights add up to 1 (0 to 1). null takes the change back. */
            alpha?: number | null;
            /** @description Weight of the words in the weighted sum (0 to 1). null takes the change back. */
            beta?: number | null;
            /** @description Weight of code identifiers in the weighted sum (0 to 1). null takes the change back. */
            gamma?: number | null;
            /** @description How long figures of single retrievals are kept, days (1 to 365). null takes the change back. */
            metricsDays?: number | null;
        };
        /**
         * @description What to change for one app. What is left out stays as it is; null takes a change back.
         *
         *     A weight that is given selects the formula weighted, unless a formula is given too.
         */
        TuneApp: {
            /** @description Whether words are searched beside vectors. null takes the change back. */
            hybrid?: boolean | null;
            /** @description Whether long messages are searched and handed out in passages. null takes the change back. */
            chunking?: boolean | null;
            /** @description Most tokens of retrieved messages in a context (100 to 5000). null takes the change back. */
            tokenBudget?: number | null;
            /** @description Messages of the assistant after which a conversation is summarised; 0: only on demand (0 to 100). null takes the change back. */
            summaryFrequency?: number | null;
            /** @description How results are ranked: by several signals, or by the weighted sum of the next three. null takes the change back. */
            formula?: components["schemas"]["RankingFormula"] | null;
            /** @description Weight of the vectors' likeness in the weighted sum; the three weights add up to 1 (0 to 1). null takes the change back. */
            alpha?: number | null;
            /** @description Weight of the words in the weighted sum (0 to 1). null takes the change back. */
            beta?: number | null;
            /** @description Weight of code identifiers in the weighted sum (0 to 1). null takes the change back. */
            gamma?: number | null;
        };
        /** @description How retrieval and summaries work. */
        TuningAnswer: {
            hybrid: components["schemas"]["Switch"];
            chunking: components["schemas"]["Switch"];
            tokenBudget: components["schemas"]["WholeNumber"];
            summaryFrequency: components["schemas"]["WholeNumber"];
            formula: components["schemas"]["Formula"];
            alpha: components["schemas"]["Weight"];
            beta: components["schemas"]["Weight"];
            gamma: components["schemas"]["Weight"];
            metricsDays: components["schemas"]["WholeNumber"];
            /**
             * @description What was brought within its bounds by this change.
             * @default []
             */
            clamped?: string[];
            /** @description What this change changed beside what was given. */
            note?: string | null;
        };
        /**
         * @description Where a value in force comes from.
         * @enum {string}
         */
        TuningSource: "setting" | "everywhere" | "app";
        /** @description What became of an app and its memories. */
        Uninstalled: {
            /** @default true */
            success?: boolean;
            appId: string;
            memoriesKept: number;
            /** @default 0 */
            deletedCount?: number;
            receipt?: components["schemas"]["Receipt"] | null;
            note?: string | null;
        };
        /** @description What was taken out of the registry; the originals are where they were. */
        Unregistered: {
            /** @default true */
            success?: boolean;
            projectId: string;
            sessions: string[];
        };
        /** @description Says that a session began with a composition. */
        UseComposition: {
            /** @description It need not be registered. */
            sessionId: string;
        };
        /** @description A user of an app, and how much there is of them. */
        UserAnswer: {
            /** @description How the app calls them; null stands for what names nobody. */
            userId: string | null;
            conversations: number;
            messages: number;
            memories: number;
            facts: number;
            hasProfile: boolean;
            /** @description When something happened last in a conversation of theirs. */
            lastActiveAt: string | null;
            /** @description Whose days are meant by what they say, an IANA name; null: the days of what their messages came with. */
            timeZone: string | null;
        };
        /** @description Users by id; what names nobody comes first. */
        UserList: {
            users: components["schemas"]["UserAnswer"][];
            cursor: string | null;
        };
        /** @description The vectors of an app by one model. */
        VectorSetAnswer: {
            model: string;
            state: components["schemas"]["SetState"];
            vectors: number;
            /** @description While it is made beside the one that serves. */
            progress: components["schemas"]["ProgressAnswer"] | null;
        };
        /** @description A version of a session. */
        VersionAnswer: {
            sessionId: string;
            versionId: string;
            state: components["schemas"]["BuildState"];
            /** @description Name of its files, without `.md` and `.jsonl`. */
            file: string | null;
            /** Format: date-time */
            createdAt: string;
            finishedAt: string | null;
            settings: {
                [key: string]: unknown;
            };
            /** @description The version it was made from; null for the original. */
            sourceVersion: string | null;
            /** @description How much of the original it covers. */
            sourceBytes: number;
            inputTokens: number;
            outputTokens: number;
            outputMessages: number;
            compressionRatio: number;
            keepitStats: components["schemas"]["KeepitStats"] | null;
            statistics: {
                [key: string]: unknown;
            };
            /** @description What it leaves out of what it was made from, by kind and count; empty until made. */
            why: string;
            agent: string | null;
            askedBy: string;
            reason: string;
            uses: number;
            lastUsed: string | null;
            /** @description Names of the compositions that use it; it cannot be removed before them. */
            usedIn: string[];
        };
        /** @description Two versions of a session beside each other. */
        VersionComparison: {
            sessionId: string;
            version: components["schemas"]["VersionAnswer"];
            other: components["schemas"]["VersionAnswer"];
            /** @description Only those that differ. */
            settings: {
                [key: string]: components["schemas"]["DifferingSetting"];
            };
            /** @description Pieces that both have. */
            sameBlocks: number;
            onlyInVersion: components["schemas"]["OnlyIn"];
            onlyInOther: components["schemas"]["OnlyIn"];
            /** @description In the order in which both stand. */
            differences: components["schemas"]["TextDifference"][];
            cursor: string | null;
        };
        /** @description A version and what it says. */
        VersionContent: {
            version: components["schemas"]["VersionAnswer"];
            /** @description As Markdown. */
            content: string;
        };
        /** @description What becomes of a version, and why. */
        VersionDecision: {
            sessionId: string;
            versionId: string;
            tokens: number;
            /** Format: date-time */
            createdAt: string;
            lastUsed: string | null;
            uses: number;
            /** @description Names of the compositions that use it. */
            usedIn: string[];
            reason: string;
        };
        /** @description What would come of a compression, by the built-in agent. */
        VersionForeseen: {
            inputTokens: number;
            inputMessages: number;
            outputTokens: number;
            outputMessages: number;
            compressionRatio: number;
            /** @description Marked parts that would be kept word for word. */
            preserved: number;
            summarized: number;
            /** @description The least weight that survives, by tier; empty unless decay decides. */
            thresholds: number[];
            markers: components["schemas"]["MarkerForeseen"][];
            /** @description Why the ratio would not be near the one asked for. */
            note: string | null;
            /** @description Whether tokens and messages are estimated from a sample of a long session. */
            isSampled: boolean;
        };
        /** @description Versions of a session that are whole, newest first. */
        VersionList: {
            sessionId: string;
            versions: components["schemas"]["VersionAnswer"][];
            /** @description The one that is being made. */
            working: components["schemas"]["VersionAnswer"] | null;
            cursor: string | null;
        };
        /** @description A version was asked for; its job says when it is there. Of a dry run only ``foreseen`` is given. */
        VersionMade: {
            versionId?: string | null;
            job?: components["schemas"]["JobAnswer"] | null;
            foreseen?: components["schemas"]["VersionForeseen"] | null;
        };
        /** @description A version was removed; its id is not given again. */
        VersionRemoved: {
            /** @default true */
            success?: boolean;
            versionId: string;
        };
        /** @description One way of searching at the release gate. */
        WayAtGate: {
            state: components["schemas"]["GateVerdict"];
            why: string;
            durations: components["schemas"]["Durations"] | null;
        };
        /** @description A webhook, without its secret. */
        WebhookAnswer: {
            webhookId: string;
            appId: string;
            url: string;
            kinds: string[];
            enabled: boolean;
            disabledAt: string | null;
            disabledWhy: string | null;
            /** Format: date-time */
            createdAt: string;
            /** @description When something was last sent there. */
            triedAt: string | null;
            /** @description How that went. */
            outcome: components["schemas"]["DeliveryOutcome"] | null;
            /** @description The HTTP status it answered, if it answered. */
            status: number | null;
            /** @description Attempts that failed since it last took something. */
            failures: number;
            /** @description When the first of them was; after a day (AFTERTHOUGHT_WEBHOOK_DISABLE_HOURS) it is disabled. */
            failingSince: string | null;
            /** @description When it is tried again; what is to be sent there waits till then. */
            retryAt: string | null;
        };
        /** @description An app's webhooks, oldest first. */
        WebhookList: {
            webhooks: components["schemas"]["WebhookAnswer"][];
            cursor: string | null;
        };
        /** @description A weight to put in the place of what is written; null takes it back. */
        Weigh: {
            /** @description Two digits behind the point, as 0.80. */
            weight?: number | null;
            preset?: components["schemas"]["WeightPreset"] | null;
        };
        /** @description A weight in force, from 0 to 1. */
        Weight: {
            value: number;
            /** @description What it comes from: the settings, a change for all apps, or one for this app. */
            source: components["schemas"]["TuningSource"];
        };
        /**
         * @description Weights that have a name.
         * @enum {string}
         */
        WeightPreset: "PINNED" | "CRITICAL" | "IMPORTANT" | "NOTABLE" | "MINOR" | "HINT";
        /** @description Weights in force, of which a session has at least one. */
        WeightRange: {
            /** @default 0 */
            min?: number;
            /** @default 1 */
            max?: number;
        };
        /** @description A whole number in force. */
        WholeNumber: {
            value: number;
            /** @description What it comes from: the settings, a change for all apps, or one for this app. */
            source: components["schemas"]["TuningSource"];
        };
        /**
         * @description What a call was for; a closed set, booked in the ledger.
         * @enum {string}
         */
        WorkKind: "create_memory" | "compact_memories" | "extract_facts" | "embed" | "summarise" | "compress_session" | "learn_from_sessions" | "think" | "chat";
        /** @description A fact written by hand. */
        WriteFact: {
            fact: string;
            /** @description Left out: found by its words. */
            category?: components["schemas"]["Category"] | null;
            /** @default false */
            pinned?: boolean;
            userId?: string | null;
            /** @description When it was said, which orders facts about one thing; left out: now. */
            saidAt?: string | null;
        };
        /** @description A memory written by hand. */
        WriteMemory: {
            content: string;
            /** @default 5 */
            importance?: number;
            tags?: string[];
            /** @default false */
            pinned?: boolean;
            /** @description Whose it is; without it, nobody's in particular. */
            userId?: string | null;
        };
        /** @description What a profile is to say; it takes the place of all that it said. */
        WriteProfile: {
            /**
             * @default {
             *       "preferredLanguages": [],
             *       "frameworkExperience": []
             *     }
             */
            preferences?: components["schemas"]["Preferences"];
            /** @default {} */
            context?: components["schemas"]["Context"];
            /** @default  */
            freeformNotes?: string;
        };
        /** @description A fact that was written by hand, and what came of it. */
        WrittenFact: {
            id: number;
            fact: string;
            category: components["schemas"]["Category"];
            state: components["schemas"]["FactState"];
            confidence: number;
            mentionCount: number;
            /**
             * Format: date-time
             * @description When it was last said: the order of facts about one thing.
             */
            saidAt: string;
            /** Format: date-time */
            firstSeen: string;
            /**
             * Format: date-time
             * @description When it was last heard of here: the clock of expiry.
             */
            lastSeen: string;
            lastSeenConversationId: string | null;
            pinned: boolean;
            /** @description The fact it contradicted and replaced. */
            updatesFactId: number | null;
            userId: string | null;
            /** @description Whether a person wrote it first. */
            byHand: boolean;
            /** @description Who wrote the present text: extractive, a model, admin or a token. */
            agent: string;
            version: number;
            /** Format: date-time */
            updatedAt: string;
            /** @description Until when its deletion can be taken back. */
            undoUntil: string | null;
            sources: components["schemas"]["FactSourceAnswer"][];
            /**
             * @description A fact that stood already says it; its confidence grew.
             * @default false
             */
            merged?: boolean;
            /** @description Facts that went because there were too many. */
            evicted?: number[];
        };
        /** @description A memory, and what went for it. */
        WrittenMemory: {
            id: number;
            /** @description Whose it is; null where nobody was named. */
            userId: string | null;
            content: string;
            /**
             * Format: date-time
             * @description When its conversation was held.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When the newest of it was said, or a person last changed it.
             */
            updatedAt: string;
            /**
             * Format: date
             * @description The day of updatedAt where its user is.
             */
            updatedOn: string;
            sourceConversationId: string | null;
            importance: number;
            tags: string[];
            pinned: boolean;
            /** @description Who wrote the present text: extractive, a model, admin or a token. */
            agent: string;
            version: number;
            sources: components["schemas"]["Source"][];
            madeRoom: components["schemas"]["MemoryEviction"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listConversations: {
        parameters: {
            query?: {
                userId?: string | null;
                /** @description Only ended, or only open ones. */
                ended?: boolean | null;
                /** @description Only those that wait for an answer, or that do not. */
                unanswered?: boolean | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationList"];
                };
            };
        };
    };
    startConversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StartConversation"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationDetails"];
                };
            };
        };
    };
    showConversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationDetails"];
                };
            };
        };
    };
    eraseConversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erased"];
                };
            };
        };
    };
    changeConversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeConversation"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationAnswer"];
                };
            };
        };
    };
    listMessages: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The last ones before this position. */
                before?: number | null;
                /** @description Those around this messageId, as many as limit. */
                around?: string | null;
            };
            header?: never;
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageList"];
                };
            };
        };
    };
    addMessages: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddMessage"] | components["schemas"]["AddMessages"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredMessages"];
                };
            };
        };
    };
    endConversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["EndConversation"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedConversation"];
                };
            };
        };
    };
    extractFacts: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestedJob"];
                };
            };
        };
    };
    snoozeConversation: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SnoozeConversation"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationAnswer"];
                };
            };
        };
    };
    searchMessages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchAnswer"];
                };
            };
        };
    };
    composeContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AskContext"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextAnswer"];
                };
            };
        };
    };
    showAppEnergy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppEnergy"];
                };
            };
        };
    };
    eraseAppData: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erased"];
                };
            };
        };
    };
    exportApp: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Archive"];
                };
            };
        };
    };
    importApp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Archive"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportedAnswer"];
                };
            };
        };
    };
    listMemories: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryList"];
                };
            };
        };
    };
    writeMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteMemory"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenMemory"];
                };
            };
        };
    };
    purgeMemories: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PurgedMemories"];
                };
            };
        };
    };
    listMemoryChanges: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeList"];
                };
            };
        };
    };
    showMemory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
                memoryId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryAnswer"];
                };
            };
        };
    };
    deleteMemory: {
        parameters: {
            query?: {
                /** @description Also empty the text of its history, for good. */
                erase?: boolean;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                memoryId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedMemory"];
                };
            };
        };
    };
    editMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                memoryId: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditMemory"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EditedMemory"];
                };
            };
        };
    };
    showMemoryHistory: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
                memoryId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeList"];
                };
            };
        };
    };
    restoreMemory: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                memoryId: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RestoreMemory"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RestoredMemory"];
                };
            };
        };
    };
    listApps: {
        parameters: {
            query?: {
                /** @description Only those whose id or name has this in it, in either case. */
                search?: string | null;
                /** @description Count what each holds as well, which takes longer. */
                counted?: boolean;
                /** @description Only those of which an answer waits for a person's approval. */
                approving?: boolean;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppList"];
                };
            };
        };
    };
    installApp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InstallApp"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppAnswer"];
                };
            };
        };
    };
    showApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppDetails"];
                };
            };
        };
    };
    uninstallApp: {
        parameters: {
            query?: {
                purgeMemories?: boolean;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Uninstalled"];
                };
            };
        };
    };
    changeApp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeApp"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppAnswer"];
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
        };
    };
    issueToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["IssueToken"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedToken"];
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                tokenId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    listErasureReceipts: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptList"];
                };
            };
        };
    };
    listAnswers: {
        parameters: {
            query?: {
                state?: components["schemas"]["AnswerState"] | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerList"];
                };
            };
        };
    };
    approveAnswer: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                answerId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ApproveAnswer"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerAnswer"];
                };
            };
        };
    };
    rejectAnswer: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                answerId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RejectAnswer"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerAnswer"];
                };
            };
        };
    };
    listCompactions: {
        parameters: {
            query?: {
                /** @description So many days, today the last. */
                days?: number;
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionDays"];
                };
            };
        };
    };
    showFactEviction: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
                /** @description As if so many new facts of each user came. */
                more?: number;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvictionAnswer"];
                };
            };
        };
    };
    listFacts: {
        parameters: {
            query?: {
                /** @description Which facts to list. */
                state?: components["schemas"]["FactState"];
                /** @description Only of this category. */
                category?: components["schemas"]["Category"] | null;
                /** @description Only pinned ones, or only others. */
                pinned?: boolean | null;
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactList"];
                };
            };
        };
    };
    writeFact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteFact"];
            };
        };
        responses: {
            /** @description It was known already and has one source more. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenFact"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenFact"];
                };
            };
        };
    };
    clearFacts: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClearedFacts"];
                };
            };
        };
    };
    undoClearingFacts: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RestoredFacts"];
                };
            };
        };
    };
    changeFacts: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeFacts"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedFacts"];
                };
            };
        };
    };
    listFactChanges: {
        parameters: {
            query?: {
                /** @description Only of this user (empty: only what names nobody); without it, of all of the app's. */
                userId?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactChangeList"];
                };
            };
        };
    };
    showFact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
                factId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactAnswer"];
                };
            };
        };
    };
    deleteFact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                factId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedFact"];
                };
            };
        };
    };
    editFact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                factId: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditFact"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedFact"];
                };
            };
        };
    };
    pinFact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                factId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedFact"];
                };
            };
        };
    };
    unpinFact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                factId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedFact"];
                };
            };
        };
    };
    undoDeletingFact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                factId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedFact"];
                };
            };
        };
    };
    showFactHistory: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
                factId: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactChangeList"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description Only those whose id or name has this in it, in either case. */
                search?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserList"];
                };
            };
        };
    };
    showUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserAnswer"];
                };
            };
        };
    };
    changeUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeUser"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserAnswer"];
                };
            };
        };
    };
    eraseUserData: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erased"];
                };
            };
        };
    };
    showRetrievalMetrics: {
        parameters: {
            query?: {
                /** @description Only this app. */
                appId?: string | null;
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetrievalMetrics"];
                };
            };
        };
    };
    debugRetrieval: {
        parameters: {
            query: {
                q: string;
                appId: string;
                conversationId?: string | null;
                userId?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DebugAnswer"];
                };
            };
        };
    };
    showRetrievalStats: {
        parameters: {
            query?: {
                /** @description Only this app. */
                appId?: string | null;
                userId?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetrievalStats"];
                };
            };
        };
    };
    rebuildWordIndex: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rebuilt"];
                };
            };
        };
    };
    showIndexes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IndexAnswer"];
                };
            };
        };
    };
    backfillIndexes: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
        };
    };
    listSummaries: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SummaryList"];
                };
            };
        };
    };
    makeSummary: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                conversationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestedJob"];
                };
            };
        };
    };
    showConsent: {
        parameters: {
            query: {
                appId: string;
                /** @description A user of the app; leave it out for an app that names none. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentAnswer"];
                };
            };
        };
    };
    changeConsent: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeConsent"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentAnswer"];
                };
            };
        };
    };
    showProfile: {
        parameters: {
            query?: {
                /** @description A user of the app; leave it out for an app that names none. */
                userId?: string;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileAnswer"];
                };
            };
        };
    };
    writeProfile: {
        parameters: {
            query?: {
                /** @description A user of the app; leave it out for an app that names none. */
                userId?: string;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteProfile"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileAnswer"];
                };
            };
        };
    };
    eraseProfile: {
        parameters: {
            query?: {
                /** @description A user of the app; leave it out for an app that names none. */
                userId?: string;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erased"];
                };
            };
        };
    };
    listProfileChanges: {
        parameters: {
            query?: {
                /** @description Only of this user. */
                userId?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
        };
    };
    searchSessions: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskSessions"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundSessions"];
                };
            };
        };
    };
    searchProject: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskSessions"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundSessions"];
                };
            };
        };
    };
    suggestSessions: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskSuggestions"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Suggestions"];
                };
            };
        };
    };
    listLinks: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkList"];
                };
            };
        };
    };
    makeLink: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MakeLink"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkItem"];
                };
            };
        };
    };
    removeLink: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                linkId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    showSessionSettings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsConfiguration"];
                };
            };
        };
    };
    changeSessionSettings: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeSessionsConfiguration"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsConfiguration"];
                };
            };
        };
    };
    listSessionSettingsChanges: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionChangeList"];
                };
            };
        };
    };
    listSemanticMemories: {
        parameters: {
            query?: {
                type?: components["schemas"]["SemanticKind"] | null;
                verdict?: components["schemas"]["SemanticVerdict"] | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SemanticList"];
                };
            };
        };
    };
    learnFromProject: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestedLearning"];
                };
            };
        };
    };
    showSemanticMemory: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                semanticId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SemanticItem"];
                };
            };
        };
    };
    removeSemanticMemory: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                semanticId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    judgeSemanticMemory: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                semanticId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JudgeMemory"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SemanticItem"];
                };
            };
        };
    };
    showTuning: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TuningAnswer"];
                };
            };
        };
    };
    tuneAll: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TuneAll"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TuningAnswer"];
                };
            };
        };
    };
    showAppTuning: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TuningAnswer"];
                };
            };
        };
    };
    tuneApp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TuneApp"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TuningAnswer"];
                };
            };
        };
    };
    exportProject: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A zip file with a checksum of each part. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    importProject: {
        parameters: {
            query?: {
                /** @description Another name for it. */
                projectId?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/zip": string;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportedProject"];
                };
            };
        };
    };
    listProjects: {
        parameters: {
            query?: {
                /** @description Only those whose id or name has this in it, in either case. */
                search?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectList"];
                };
            };
        };
    };
    openProject: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OpenProject"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectItem"];
                };
            };
        };
    };
    showProject: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDetail"];
                };
            };
        };
    };
    removeProject: {
        parameters: {
            query?: {
                /** @description With its sessions, where no composition uses one. */
                force?: boolean;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Unregistered"];
                };
            };
        };
    };
    changeProject: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeProject"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectItem"];
                };
            };
        };
    };
    scanProject: {
        parameters: {
            query?: {
                /** @description Only say what would come of it. */
                dryRun?: boolean;
                /** @description Most files a dry run reads; it may read fewer. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScanAnswer"];
                };
            };
        };
    };
    listProjectChanges: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionChangeList"];
                };
            };
        };
    };
    listProjectSessions: {
        parameters: {
            query?: {
                /** @description Those that were registered, or went on, last come first. */
                order?: "registered" | "time";
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                projectId?: string | null;
                /** @description Only those that touched this file. */
                file?: string | null;
                /** @description Only those that went on then or later. */
                since?: string | null;
                /** @description Only those that had begun then. */
                until?: string | null;
                /** @description Only those with, or without, marked parts. */
                marked?: boolean | null;
                /** @description Only those whose id or name has this in it, in either case. */
                search?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
        };
    };
    showSession: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
        };
    };
    registerSession: {
        parameters: {
            query?: {
                /** @description Only say what would come of it. */
                dryRun?: boolean;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description An absolute path on the machine of the service. */
                    path: string;
                };
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description What would be registered; nothing was written. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionForeseen"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionItem"];
                };
            };
        };
    };
    unregisterSession: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Unregistered"];
                };
            };
        };
    };
    syncSession: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Synced"];
                };
            };
        };
    };
    deleteSessions: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteSessions"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedSessions"];
                };
            };
        };
    };
    listKeepits: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MarkerList"];
                };
            };
        };
    };
    weighKeepit: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                sessionId: string;
                markerId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Weigh"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MarkerItem"];
                };
            };
        };
    };
    previewDecay: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewDecay"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecayPreview"];
                };
            };
        };
    };
    readOriginal: {
        parameters: {
            query?: {
                /** @description Begin with this message, as a search names it. */
                messageUuid?: string | null;
                /** @description Say of each message how much of it this version holds. */
                versionId?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OriginalPage"];
                };
            };
        };
    };
    followApp: {
        parameters: {
            query?: {
                /** @description Only events after this position; else from now on. */
                after?: number | null;
                /** @description Only these kinds, by commas, of: answer.sent, answer.pending, answer.rejected, conversation.ended, conversation.snoozed, conversation.woken, memory.created, memory.changed, memory.removed, memories.purged, fact.created, fact.changed, fact.removed, profile.changed, webhook.disabled, job.deferred, job.finished. */
                kinds?: string | null;
                /** @description Only events of this conversation. */
                conversationId?: string | null;
            };
            header?: {
                /** @description As `after`; a browser sends it when it comes back. */
                "last-event-id"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    followAll: {
        parameters: {
            query?: {
                /** @description Only events after this position; else from now on. */
                after?: number | null;
                /** @description Only these kinds, by commas, of: answer.sent, answer.pending, answer.rejected, conversation.ended, conversation.snoozed, conversation.woken, memory.created, memory.changed, memory.removed, memories.purged, fact.created, fact.changed, fact.removed, profile.changed, webhook.disabled, job.deferred, job.finished. */
                kinds?: string | null;
            };
            header?: {
                /** @description As `after`; a browser sends it when it comes back. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    pollEvents: {
        parameters: {
            query?: {
                /** @description Only events after this position; else from now on. */
                after?: number | null;
                /** @description Seconds to wait for an event. */
                wait?: number;
                /** @description Only these kinds, by commas, of: answer.sent, answer.pending, answer.rejected, conversation.ended, conversation.snoozed, conversation.woken, memory.created, memory.changed, memory.removed, memories.purged, fact.created, fact.changed, fact.removed, profile.changed, webhook.disabled, job.deferred, job.finished. */
                kinds?: string | null;
                /** @description Only events of this conversation. */
                conversationId?: string | null;
                /** @description Most items to return. */
                limit?: number;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookList"];
                };
            };
        };
    };
    addWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddWebhook"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedWebhook"];
                };
            };
        };
    };
    showWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAnswer"];
                };
            };
        };
    };
    removeWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    changeWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeWebhook"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAnswer"];
                };
            };
        };
    };
    tryWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                appId: string;
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: {
                state?: components["schemas"]["JobState"] | null;
                appId?: string | null;
                kind?: components["schemas"]["JobKind"] | null;
                /** @description Part of their reason, in any case of letters. */
                reason?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
        };
    };
    showJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                jobId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetails"];
                };
            };
        };
    };
    replayJobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayJobs"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayAnswer"];
                };
            };
        };
    };
    replayJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                jobId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
        };
    };
    cancelJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                jobId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
        };
    };
    listCompositions: {
        parameters: {
            query?: {
                /** @description Only those that stand so. */
                state?: components["schemas"]["BuildState"] | null;
                /** @description Only those with this session. */
                sessionId?: string | null;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompositionList"];
                };
            };
        };
    };
    makeComposition: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MakeComposition"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompositionMade"];
                };
            };
        };
    };
    previewComposition: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForeseeComposition"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompositionForeseen"];
                };
            };
        };
    };
    showComposition: {
        parameters: {
            query?: {
                /** @description `json`: what it is made of. The others: what it says, which counts as a use. */
                format?: "json" | "markdown" | "jsonl";
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                compositionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompositionAnswer"];
                    "text/markdown": string;
                    "application/x-ndjson": string;
                };
            };
        };
    };
    removeComposition: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                compositionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompositionRemoved"];
                };
            };
        };
    };
    useComposition: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                compositionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UseComposition"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompositionAnswer"];
                };
            };
        };
    };
    composeAgain: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                compositionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ComposeAgain"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompositionMade"];
                };
            };
        };
    };
    listVersions: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionList"];
                };
            };
        };
    };
    makeVersion: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["MakeVersion"] | null;
            };
        };
        responses: {
            /** @description What would come of it; nothing was written. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionMade"];
                };
            };
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionMade"];
                };
            };
        };
    };
    readVersion: {
        parameters: {
            query?: {
                /** @description `json`: the version with its Markdown; `jsonl`: as a transcript. */
                format?: "json" | "markdown" | "jsonl";
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                sessionId: string;
                versionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionContent"];
                    "text/markdown": string;
                    "application/x-ndjson": string;
                };
            };
        };
    };
    removeVersion: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                sessionId: string;
                versionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionRemoved"];
                };
            };
        };
    };
    listSessionJobs: {
        parameters: {
            query?: {
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionJobList"];
                };
            };
        };
    };
    showSessionJob: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                jobId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionJobAnswer"];
                };
            };
        };
    };
    compareVersions: {
        parameters: {
            query: {
                /** @description The other version's id. */
                with: string;
                /** @description Most items to return. */
                limit?: number;
                /** @description Goes on where a former page ended. */
                cursor?: string | null;
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                sessionId: string;
                versionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionComparison"];
                };
            };
        };
    };
    pruneVersions: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PruneVersions"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pruned"];
                };
            };
        };
    };
    showAgeing: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: never;
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgeingAnswer"];
                };
            };
        };
    };
    changeAgeing: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeAgeing"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgeingAnswer"];
                };
            };
        };
    };
    runAgeing: {
        parameters: {
            query?: {
                /** @description The app; an app's token may leave its own out. */
                appId?: string | null;
            };
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path: {
                projectId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RunAgeing"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgeingDone"];
                };
            };
        };
    };
    showToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenRights"];
                };
            };
        };
    };
    makeLogin: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginMade"];
                };
            };
        };
    };
    endLogin: {
        parameters: {
            query?: never;
            header?: {
                /** @description A write under a key that was used before is answered as before. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    showEnergy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnergyAnswer"];
                };
            };
        };
    };
    showEnergyHistory: {
        parameters: {
            query?: {
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnergyHistory"];
                };
            };
        };
    };
    showStorage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Storage"];
                };
            };
        };
    };
    showFindings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoctorFindings"];
                };
            };
        };
    };
    showLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Live"];
                };
            };
        };
    };
    showReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
        };
    };
    showMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Prometheus' text. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
}
